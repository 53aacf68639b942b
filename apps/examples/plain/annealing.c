/* Simulated annealing of a round trip through 40 towns: a C program that takes options and prints
   one line a sweep. It is built with `cc -O2 -o annealing annealing.c -lm`. */
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { towns = 40, moves_per_sweep = 20000 };

static uint64_t state;
static double town_x[towns], town_y[towns];
static int trip[towns];

/* In [0, 1), the same on every machine. */
static double random_number(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) / 9007199254740992.0;
}

static double distance(int a, int b) {
  return hypot(town_x[a] - town_x[b], town_y[a] - town_y[b]);
}

static double trip_length(void) {
  double length = 0;
  for (int i = 0; i < towns; ++i) length += distance(trip[i], trip[(i + 1) % towns]);
  return length;
}

/* Turns a part of the trip around, if that is shorter or the temperature allows it. */
static void move(double temperature) {
  int from = (int)(random_number() * towns), to = (int)(random_number() * towns);
  if (from > to) {
    const int swapped = from;
    from = to;
    to = swapped;
  }
  if (from == to || (from == 0 && to == towns - 1)) return;
  const int before = trip[(from + towns - 1) % towns], after = trip[(to + 1) % towns];
  const double more = distance(before, trip[to]) + distance(trip[from], after) -
                      distance(before, trip[from]) - distance(trip[to], after);
  if (more > 0 && random_number() >= exp(-more / temperature)) return;
  for (; from < to; ++from, --to) {
    const int swapped = trip[from];
    trip[from] = trip[to];
    trip[to] = swapped;
  }
}

int main(int argc, char** argv) {
  double temperature = 1, cooling = 0.9;
  int sweeps = 30, seed = 1;
  static const struct option options[] = {{"temperature", required_argument, NULL, 't'},
                                          {"cooling", required_argument, NULL, 'c'},
                                          {"sweeps", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "t:c:n:s:h", options, NULL)) != -1;) {
    if (option == 't') temperature = atof(optarg);
    if (option == 'c') cooling = atof(optarg);
    if (option == 'n') sweeps = atoi(optarg);
    if (option == 's') seed = atoi(optarg);
    if (option == 'h' || option == '?') {
      puts("Usage: annealing [OPTION]...\n"
           "  -t, --temperature=X  at the beginning [1.0]\n"
           "  -c, --cooling=X      the factor from sweep to sweep [0.9]\n"
           "  -n, --sweeps=N       how many [30]\n"
           "  -s, --seed=N         of the moves [1]");
      return option == 'h' ? 0 : 2;
    }
  }
  if (!(temperature > 0) || !(cooling > 0)) {
    fputs("annealing: temperature and cooling must be above 0\n", stderr);
    return 2;
  }
  state = 42; /* The towns are the same for each seed. */
  for (int i = 0; i < towns; ++i) {
    town_x[i] = random_number();
    town_y[i] = random_number();
    trip[i] = i;
  }
  state = (uint64_t)seed;
  for (int sweep = 1; sweep <= sweeps; ++sweep) {
    for (int i = 0; i < moves_per_sweep; ++i) move(temperature);
    temperature *= cooling;
    printf("sweep: %d length: %.5f temperature: %.3g\n", sweep, trip_length(), temperature);
    fflush(stdout); /* A pipe or a file gets it now, and not once a block is full. */
  }
  return 0;
}
