// The table of exit codes.
#include "apps/tune/exit_codes.h"

namespace tune {

namespace {

constexpr ExitCodeText texts[] = {
    {exit_ok, "ok", "all is well", "all is well; of a run: every trial that ended, ended well"},
    {exit_trials_failed, "failed", "some trials failed",
     "the run is over and some trials failed (also after `fail_fast`), or so many in a row that it "
     "was given up; a claim of `tune check` does not hold; two checkpoints differ (`tune diff`)"},
    {exit_bad_input, "bad_input", "bad input",
     "bad input: a spec, an option, a directory without an experiment, one that another driver "
     "has, a wish (`stop`, `pause`, `set` ...) that the driver refuses, or no driver to hear it. "
     "Nothing has been touched, but for three cases: a run that has begun ends so if a policy's "
     "program or plugin breaks its rules, and `tune tell DIR -` and `tune fetch` do what they can "
     "of a list"},
    {exit_machine, "machine", "a fault of the machine, or damage",
     "a fault of the machine (a full disk, a missing permission, a remote that does not answer, a "
     "driver elsewhere that has taken the experiment over), or damage was found (`checkpoints "
     "--verify`, `checkpoints --blobs`, `remote verify`, `pull`)"},
    {exit_raised, "raised", "ended at once by a failed trial (fail_fast raise)",
     "a trial failed and `fail_fast` is `raise`: everything was ended at once; `tune resume` goes "
     "on with the others"},
    {exit_exhausted, "exhausted", "nothing to suggest any more",
     "of `tune suggest`: the search is over"},
    {exit_nothing_now, "nothing_now", "nothing to suggest now",
     "of `tune suggest`: the searcher waits for a result first"},
    {exit_not_on_remote, "not_on_remote", "not everything is on the remote",
     "of a run: all is well here, but not everything is on its remote; `tune push` does the rest"},
    {exit_interrupted, "interrupted", "interrupted",
     "interrupted (SIGINT, SIGTERM, SIGHUP, SIGUSR1, `tune pause`, or somebody who goes on from "
     "its "
     "remote); `tune resume` goes on"},
};

}  // namespace

std::span<const ExitCodeText> exit_codes() { return texts; }

}  // namespace tune
