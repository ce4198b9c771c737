# shellcheck shell=bash
# A program in Rust of harness/backends/peers, which asks a crate: cargo:FOLDER SHA256. SHA256 is that of the folder's
# Cargo.lock, which has the hashes of every crate. Crates go where cargo keeps them; the root gets bin/peer.

# cargo_unpack NAME SOURCE SHA256 TARGET: fills the folder TARGET; works in the current folder, which is empty.
cargo_unpack() {
  local folder="$root/harness/backends/peers/$2"
  need cargo
  echo "$3  $folder/Cargo.lock" | sha256sum --check --status || fail "$folder/Cargo.lock is not the file that was recorded"
  cargo build --quiet --release --locked --manifest-path "$folder/Cargo.toml" --target-dir "$PWD/target" >log 2>&1 </dev/null ||
    { cat log >&2; fail "cargo cannot build $1, see above"; }
  install -D --strip target/release/peer "$4/bin/peer"
}

# cargo_newest SOURCE: the newest version of the crate that the program asks for.
cargo_newest() {
  local crate work
  need cargo
  crate=$(sed -n '/^\[dependencies\]/,/^$/s/^\([a-z0-9_-]*\) *=.*"=.*/\1/p' "$root/harness/backends/peers/$1/Cargo.toml" | head -n 1)
  work=$(mktemp -d)
  (cd "$work" && cargo init --quiet --lib --name newest . && cargo add --dry-run "$crate" 2>&1) | sed -n 's/.*Adding [^ ]* v\([^ ]*\) to.*/\1/p'
  rm -rf "$work"
}
