/* Exports functions, and none that qconform looks for. */
const char* another_interface(int version);
const char* another_interface(int version) {
  return version == 1 ? "another" : 0;
}
