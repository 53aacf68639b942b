"""How often the state is put into a snapshot, by the spec and by the environment."""
import os

from cli_support import Case, main


class SnapshotPeriod(Case):
    def generation(self, name):
        return int(self.read("results", name, "CURRENT"))

    def run_with(self, period, name, **fields):
        self.write("spec.json", self.quadratic(num_samples=20, **fields))
        self.tune("run", "spec.json", "--name", name, "--progress", "none",
                  TUNE_GLOBAL_CHECKPOINT_S=period)

    def test_is_given_by_the_environment_for_all_specs_that_say_nothing(self):
        self.run_with("1e6", "seldom")
        self.run_with("0.001", "often")
        self.assertGreater(self.generation("often"), self.generation("seldom"))

    def test_is_what_the_spec_says_whatever_the_environment_does(self):
        self.run_with("1e6", "often", snapshot_period_s=0.001)
        self.run_with("0.001", "seldom", snapshot_period_s=1e6)
        self.assertGreater(self.generation("often"), self.generation("seldom"))

    def test_that_is_no_time_is_refused_before_anything_is_made(self):
        self.write("spec.json", self.quadratic())
        for period in ["often", "0", "-1", "nan", "5s"]:
            with self.subTest(period):
                error = self.tune("run", "spec.json", expect=2, TUNE_GLOBAL_CHECKPOINT_S=period).err
                self.assertIn("TUNE_GLOBAL_CHECKPOINT_S must be 'auto' or a number of seconds above "
                              f"0, got '{period}'", error)
                self.assertFalse(os.path.exists(self.path("results")))


if __name__ == "__main__":
    main()
