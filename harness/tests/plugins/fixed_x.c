/* Copies the x of a node's first run as keeps_x does, and says so. */
#define CAPABILITIES QC_SAME_INPUTS
#include "keeps_x.c"
