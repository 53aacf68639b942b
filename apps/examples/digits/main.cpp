// The digits example as a program.
#include "apps/examples/digits/digits_trainable.h"

int main(int argc, char** argv) { return tune::run_trainable<digits::DigitsTrainable>(argc, argv); }
