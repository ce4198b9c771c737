/* Copies the x of a node's first run as keeps_x_2 does, and says so. */
#define CAPABILITIES QC2_SAME_INPUTS
#include "keeps_x_2.c"
