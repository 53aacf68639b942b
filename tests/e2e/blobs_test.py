"""Named tensors: three readers and writers of one format agree, and the commands show what differs.

The reference implementation is tried where EXAMPLES_VENV or `python3` has it; else its tests are skipped.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

from cli_support import LIMIT_S, Case, main

PACKAGE = os.environ["PYTHON_PACKAGE"]
VENV = os.environ["EXAMPLES_VENV"]
sys.path.insert(0, PACKAGE)

from tune import blobs  # noqa: E402


def python_with(module):
    for python in (os.path.join(VENV, "bin", "python3"), sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", f"import {module}"], capture_output=True,
                                                     check=False).returncode == 0:
            return python
    return None


REFERENCE = python_with("safetensors, numpy")
TORCH = python_with("safetensors.torch")
JUDGE = """
import json, sys
from safetensors import safe_open
answers = []
for path in sys.argv[1:]:
    try:
        with safe_open(path, "numpy") as file:
            answers.append(sorted(file.keys()))
    except Exception as error:
        answers.append(None)
print(json.dumps(answers))
"""


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(name, dtype, shape, begin, end):
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


A = entry("a", "F32", [1], 0, 4)
#: What all three read, and what all three refuse.
SOUND = {
    "empty": file_of("{}"),
    "padded": file_of("{}   "),
    "one": file_of("{" + A + "}", b"0123"),
    "metadata": file_of('{"__metadata__":{"k":"v"},' + A + "}", b"0123"),
    "unordered": file_of("{" + entry("b", "U8", [1], 4, 5) + "," + A + "}", b"01234"),
    "odd place": file_of("{" + entry("b", "U8", [1], 0, 1) + "," + entry("a", "F32", [1], 1, 5) + "}", b"01234"),
    "no bytes": file_of("{" + entry("z", "F32", [0, 3], 0, 0) + "," + A + "}", b"0123"),
    "scalar": file_of("{" + entry("s", "F64", [], 0, 8) + "}", b"01234567"),
    "escaped": file_of('{"\\u00e9\\ud83d\\ude00":' + A[4:] + "}", b"0123"),
    "UTF-8": file_of('{"é":' + A[4:] + "}", b"0123"),
}
HOSTILE = {
    "nothing": b"",
    "short": b"1234567",
    "no header": file_of(""),
    "no object": file_of("[]"),
    "unfinished": file_of("{"),
    "garbage": file_of("{}x"),
    "deep": file_of('{"a":' + "[" * 100000),
    "deep objects": file_of('{"a":' * 100000),
    "not UTF-8": file_of(b'{"\xff":' + A[4:].encode() + b"}", b"0123"),
    "half a pair": file_of('{"\\ud800":' + A[4:] + "}", b"0123"),
    "control": file_of('{"a\nb":' + A[4:] + "}", b"0123"),
    "long header": file_of("{}", length=3),
    "10 GB header": file_of("{}", length=10_000_000_000),
    "huge header": file_of("{}", length=2**64 - 1),
    "unknown type": file_of("{" + entry("a", "F31", [1], 0, 4) + "}", b"0123"),
    "negative": file_of("{" + entry("a", "F32", [-1], 0, 4) + "}", b"0123"),
    "float": file_of("{" + entry("a", "F32", [1.0], 0, 4) + "}", b"0123"),
    "65 bits": file_of("{" + entry("a", "F32", [2**64], 0, 4) + "}", b"0123"),
    "overflow": file_of("{" + entry("a", "F32", [2**32, 2**32], 0, 4) + "}", b"0123"),
    "overflow to 0": file_of("{" + entry("a", "U8", [2**32, 2**32], 0, 0) + "}"),
    "half bytes": file_of("{" + entry("a", "F4", [3], 0, 2) + "}", b"01"),
    "too few": file_of("{" + entry("a", "F32", [2], 0, 4) + "}", b"0123"),
    "backwards": file_of("{" + entry("a", "F32", [1], 4, 0) + "}", b"0123"),
    "10 GB": file_of("{" + entry("a", "U8", [10**10], 0, 10**10) + "}", b"0123"),
    "overlap": file_of("{" + A + "," + entry("b", "U8", [2], 3, 5) + "}", b"01234"),
    "the same place": file_of("{" + A + "," + entry("b", "F32", [1], 0, 4) + "}", b"0123"),
    "hole": file_of("{" + A + "," + entry("b", "U8", [1], 5, 6) + "}", b"012345"),
    "hole first": file_of("{" + entry("a", "U8", [1], 1, 2) + "}", b"01"),
    "trailing": file_of("{" + A + "}", b"01234"),
    "cut off": file_of("{" + A + "}", b"012"),
    "true": file_of('{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}', b"0"),
    "three offsets": file_of('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}', b"0"),
    "no shape": file_of('{"a":{"dtype":"U8","data_offsets":[0,1]}}', b"0"),
    "metadata of numbers": file_of('{"__metadata__":{"k":1}}'),
    "field twice": file_of('{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"0"),
}
#: Refused here, and partly taken by the reference: the format says that a header begins with '{', and has no name twice.
STRICTER = {
    "blank first": file_of(" {}"),
    "twice": file_of("{" + A + "," + entry("a", "F32", [1], 4, 8) + "}", b"01234567"),
    "the same twice": file_of("{" + A + "," + A + "}", b"0123"),
    "metadata twice": file_of('{"__metadata__":{"k":"1","k":"2"}}'),
    "another field": file_of('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}}', b"0"),
}


class Formats(Case):
    def put(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_the_readers_in_cpp_and_python_and_the_reference_agree_on_what_is_sound(self):
        paths = [self.put(name, content) for name, content in SOUND.items()]
        names = [sorted(blobs.Blobs(path)) for path in paths]
        for path in paths:
            self.assertIn("no difference", self.tune("diff", path, path).out)
        if REFERENCE is None:
            self.skipTest("neither EXAMPLES_VENV nor python3 has safetensors")
        self.assertEqual(self.judged(paths), names)

    def test_each_hostile_file_is_refused_with_one_sentence_by_all_of_them(self):
        paths = [self.put(name, content) for name, content in {**HOSTILE, **STRICTER}.items()]
        for path in paths:
            with self.subTest(path):
                with self.assertRaises(blobs.BlobError) as caught:
                    blobs.Blobs(path)
                self.assertTrue(str(caught.exception).startswith(path))
                self.assertNotIn("\n", str(caught.exception))
                self.assertIn(path, self.refused("diff", path, path))
        if REFERENCE is None:
            self.skipTest("neither EXAMPLES_VENV nor python3 has safetensors")
        judged = dict(zip([*HOSTILE, *STRICTER], self.judged(paths)))
        self.assertEqual([name for name in HOSTILE if judged[name] is not None], [])

    def test_a_link_a_fifo_and_a_device_are_refused_and_not_waited_for(self):
        self.put("whole", SOUND["one"])
        os.symlink("whole", self.path("link"))
        os.mkfifo(self.path("fifo"))
        for name, what in (("link", "is a symbolic link and no file"), ("fifo", "is no regular file"),
                           ("/dev/zero", "is no regular file")):
            path = self.path(name)
            self.assertEqual(self.refused("diff", path, path), f"tune: {path} {what}")
            with self.assertRaisesRegex(blobs.BlobError, what):
                blobs.Blobs(path)

    def judged(self, paths):
        done = subprocess.run([REFERENCE, "-c", JUDGE, *paths], capture_output=True, timeout=LIMIT_S, check=True)
        return json.loads(done.stdout)


ALL_TYPES = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from safetensors.torch import load_file, save_file
from tune.torch import load_blobs
import tune
torch.manual_seed(0)
made = {str(dtype): torch.randint(0, 2, (3, 5)).to(dtype) for dtype in (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.float8_e4m3fn,
    torch.float8_e5m2)}
made["scalar"], made["none"] = torch.tensor(2.5), torch.zeros(0, 4)
made["view"] = torch.randn(4, 6).t()

def same(a, b):
    raw = lambda t: t.contiguous().reshape(-1).view(torch.uint8)
    return a.dtype == b.dtype and a.shape == b.shape and (not a.numel() or torch.equal(raw(a), raw(b)))

tune.blobs.save("ours.safetensors", made, {"by": "tune"})
save_file({name: each.contiguous() for name, each in made.items()}, "theirs.safetensors")
for read in (load_file, load_blobs):
    for path in ("ours.safetensors", "theirs.safetensors"):
        back = read(path)
        assert back.keys() == made.keys(), back.keys()
        for name, each in made.items():
            assert same(back[name], each), (read, path, name)
loaded = load_blobs("theirs.safetensors", ["torch.float*", "none*"])
assert set(loaded) == {name for name in made if name.startswith("torch.float")} | {"none"}, loaded.keys()
"""
WITHOUT_NUMPY = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["numpy"] = None
import array, tune
tune.blobs.save("m.safetensors", {"f": array.array("f", [1, 2, 3]), "b": b"abc"})
loaded = tune.blobs.load("m.safetensors")
assert loaded["f"].tolist() == [1, 2, 3] and loaded["f"].format == "f", loaded
assert bytes(loaded["b"]) == b"abc" and loaded["b"].shape == (3,)
loaded["f"][0] = 7
view = tune.blobs.Blobs("m.safetensors")["f"]
assert view.tolist() == [1, 2, 3] and view.readonly
"""


class Python(Case):
    def run_python(self, python, program):
        done = subprocess.run([python, "-c", program, PACKAGE], cwd=self.dir, capture_output=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_all_types_of_pytorch_go_to_the_reference_and_come_from_it(self):
        if TORCH is None:
            self.skipTest("neither EXAMPLES_VENV nor python3 has safetensors and torch")
        self.run_python(TORCH, ALL_TYPES)
        # Those of the C++ reader are the same bytes.
        self.assertIn("no difference in 19 tensors", self.tune("diff", "ours.safetensors", "theirs.safetensors").out)

    def test_without_numpy_tensors_are_memoryviews(self):
        self.run_python(sys.executable, WITHOUT_NUMPY)

    def test_a_part_is_loaded_strictly_or_says_what_is_missing(self):
        names = ("layers.0.w", "layers.1.w", "head.w")
        os.mkdir(self.path("c"))
        with blobs.Writer(self.path("c/model.safetensors"), {name: ("U8", (2,)) for name in names}) as writer:
            for name in reversed(names):
                writer.write(name, name[-3:-1].encode())
        c = self.path("c")
        self.assertEqual(sorted(blobs.load(c, ["layers.*"])), ["layers.0.w", "layers.1.w"])
        with self.assertRaisesRegex(blobs.BlobError, r"has no tensor that fits 'tail\.\*'$"):
            blobs.load(c, ["layers.*", "tail.*"])
        loaded = blobs.load(c, ["layers.*", "tail.*"], strict=False)
        self.assertEqual((len(loaded), loaded.missing, loaded.unexpected), (2, ["tail.*"], []))
        with self.assertRaisesRegex(blobs.BlobError, "has no tensor 'b', and has 'layers.0.w', 'layers.1.w', which"):
            blobs.load(c, names=["head.w", "b"])
        loaded = blobs.load(c, names=["head.w", "b"], strict=False)
        self.assertEqual((list(loaded), loaded.missing, loaded.unexpected),
                         (["head.w"], ["b"], ["layers.0.w", "layers.1.w"]))
        blobs.save(self.path("c/more.safetensors"), {"head.w": b"x"})
        with self.assertRaisesRegex(blobs.BlobError, "'head.w' twice: in model.safetensors and in more.safetensors"):
            blobs.Blobs(c)

    def test_a_writer_that_does_not_finish_leaves_what_was_there(self):
        path = self.path("m.safetensors")
        blobs.save(path, {"a": b"old"})
        with self.assertRaises(RuntimeError), blobs.Writer(path, {"a": ("U8", (3,))}) as writer:
            writer.write("a", b"n")
            raise RuntimeError
        with self.assertRaisesRegex(blobs.BlobError, "tensor 'w' is a list, and no array or buffer"):
            blobs.save(self.path("list.safetensors"), {"w": [1, 2]})
        with self.assertRaisesRegex(blobs.BlobError, "lacks the last 2 bytes of 'a'"), \
                blobs.Writer(path, {"a": ("U8", (3,))}) as writer:
            writer.write("a", b"n")
        self.assertEqual(os.listdir(self.dir), ["m.safetensors"])
        self.assertEqual(bytes(blobs.load(path)["a"]), b"old")

    def test_a_file_that_is_shortened_while_it_is_open_is_said(self):
        path = self.path("m.safetensors")
        blobs.save(path, {"a": bytes(10000)})
        opened = blobs.Blobs(path)
        os.truncate(path, 5000)
        with self.assertRaisesRegex(blobs.BlobError, "has become shorter since it was opened"):
            opened.read("a")
        with self.assertRaisesRegex(blobs.BlobError, "has become shorter since it was opened"):
            opened["a"]


TRAINABLE = """
import os, sys
sys.path.insert(0, os.environ["PACKAGE"])
import array, tune

class Model(tune.Trainable):
    def setup(self, config):
        self.weight, self.steps = 0.0, 0
    def step(self):
        self.weight += self.config["lr"]
        self.steps += 1
        return {"loss": -self.weight, "other": self.weight, "done": self.steps >= 6}
    def save_checkpoint(self, directory):
        tune.blobs.save(os.path.join(directory, "model.safetensors"),
                        {"layers.0.weight": array.array("d", [self.weight, 1, float("nan")]),
                         "fixed": array.array("f", [1, 2]), "steps": array.array("q", [self.steps])})
    def load_checkpoint(self, directory):
        loaded = tune.blobs.load(directory)
        self.weight, self.steps = loaded["layers.0.weight"][0], 0
"""
PROGRAM = """
import json, os, sys
sys.path.insert(0, os.environ["PACKAGE"])
import tune
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model import Model
spec = json.loads(sys.argv[1])
tune.Tuner(Model, {"lr": tune.grid_search([0.5, 1.0])}, run_config=tune.RunConfig(verbose=0, name=spec.pop("name"),
           storage_path="results"), **spec).fit()
"""


class Commands(Case):
    """On experiments of a class that saves three tensors every second iteration."""

    def setUp(self):
        super().setUp()
        self.write("model.py", TRAINABLE)
        self.write("search.py", PROGRAM)

    def search(self, name, **fields):
        spec = {"name": name, "metric": "loss", "mode": "min", "checkpoint_config": {"checkpoint_frequency": 2}, **fields}
        done = subprocess.run([sys.executable, "search.py", json.dumps(spec)], cwd=self.dir, capture_output=True,
                              timeout=LIMIT_S, check=False,
                              env={**os.environ, "PACKAGE": PACKAGE, "TUNE_BINARY": os.environ["TUNE"]})
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def start_of(self, experiment):
        return json.loads(self.read("results", experiment, "experiment.json"))["resume_from_checkpoint"]

    def test_checkpoints_lists_what_tensors_are_in_them(self):
        self.search("digits")
        rows = self.json("checkpoints", "results/digits", "--trial", "1", "--blobs")
        self.assertEqual([len(row["blobs"]) for row in rows], [3, 3, 3])
        self.assertEqual(rows[0]["blobs"][0], {"name": "fixed", "dtype": "F32", "shape": [2], "bytes": 8,
                                               "file": "model.safetensors"})
        shown = self.tune("checkpoints", "results/digits", "--trial", "1", "--blobs").out.splitlines()
        self.assertEqual(shown[0].split(), ["trial", "checkpoint", "tensor", "dtype", "shape", "bytes"])
        self.assertEqual(shown[2].split(), ["trial_00001", "checkpoint_000001", "layers.0.weight", "F64", "[3]", "24"])
        self.assertEqual(len(shown), 10)
        with open(self.path("results/digits/trial_00001/checkpoint_000002/model.safetensors"), "ab") as file:
            file.write(b"x")
        done = self.tune("checkpoints", "results/digits", "--blobs", expect=3)
        self.assertIn("checkpoint_000002/model.safetensors is no sound safetensors file: 1 bytes follow", done.err)
        self.assertEqual(len(done.out.splitlines()), 16)

    def test_a_checkpoint_is_named_by_its_trial_its_iteration_and_as_the_best(self):
        self.search("digits")
        directory = self.path("results/digits/trial_00001/checkpoint_00000")
        for name, start in (("digits:1", "3"), ("digits:trial_00001@2", "1"), ("digits:best", "3"),
                            ("results/digits:1@4", "2"), (directory + "2", "2")):
            with self.subTest(name):
                self.search("next", resume_from_checkpoint=name)
                self.assertEqual(self.start_of("next"), directory + start)
                first = json.loads(self.read("results/next/trial_00000/result.json").splitlines()[0])
                self.assertEqual(first["other"], 2 * int(start) + 0.5)
                shutil.rmtree(self.path("results/next"))

    def test_what_names_no_checkpoint_is_refused_with_one_sentence_that_says_what_there_is(self):
        self.search("digits")
        self.search("several", metric=["loss", "other"], mode=["min", "max"])
        self.search("unsaved", checkpoint_config={})
        results = self.path("results")
        self.write("spec.json", {"trainable": {"command": ["true"]}, "param_space": {"lr": 1}, "metric": "loss",
                                 "mode": "min"})
        for name, sentence in (
                ("letters:1", f"there is no experiment in {self.dir}/letters, nor in {results}/letters"),
                ("results/letters:1", f"there is no experiment in {results}/letters"),
                ("digits:2", f"there is no trial '2' in {results}/digits, which has 2 trials from trial_00000"),
                ("digits:x", f"there is no trial 'x' in {results}/digits, which has 2 trials from trial_00000"),
                ("digits:1@3", f"trial_00001 in {results}/digits has no checkpoint of iteration 3: those it has are of "
                               "iteration 2, 4 and 6"),
                ("digits:1@x", "an iteration is a whole number from 0 on, got 'x'"),
                ("results/digits", f"{results}/digits is an experiment: name a checkpoint of it, as {results}/digits:best "
                                   f"or {results}/digits:3"),
                ("results/digits/trial_00001", f"{results}/digits/trial_00001 is a trial: its latest checkpoint is named "
                                               f"by {results}/digits:1"),
                ("unsaved:1", f"trial_00001 in {results}/unsaved has no checkpoint"),
                ("unsaved:best", f"the best trial in {results}/unsaved, trial_00001, has no checkpoint"),
                ("several:best", f"the experiment in {results}/several has several metrics by which one of its trials "
                                 "would be the best: name a trial, several:3")):
            with self.subTest(name):
                self.assertEqual(self.refused("validate", "spec.json", "--resume-from-checkpoint", name),
                                 f"--resume-from-checkpoint: {sentence}")
                self.assertEqual(self.refused("diff", name, "digits:1"), f"tune: {sentence}")
        self.assertIn("a checkpoint is named by its directory, or like digits:3", self.refused("diff", "x", "digits:1"))
        self.assertIn(f"{self.dir}/spec.json is a file: name the directory of its checkpoint",
                      self.refused("validate", "spec.json", "--resume-from-checkpoint", "spec.json"))

    def test_a_checkpoint_that_was_deleted_since_starts_no_trial(self):
        self.search("digits")
        shutil.rmtree(self.path("results/digits/trial_00001/checkpoint_000003"))
        self.assertIn("is not there any more", self.refused("diff", "digits:1", "digits:0"))

    def test_a_name_means_the_same_checkpoint_for_all_trials_of_an_experiment(self):
        self.write("spec.json", self.quadratic(num_samples=1, max_concurrent_trials=1, checkpoint_config={"checkpoint_frequency": 2}))
        self.tune("run", "spec.json", "--name", "digits", "--progress", "none")
        again = ("run", "spec.json", "--name", "next", "--progress", "none", "--resume-from-checkpoint", "digits:0")
        self.tune(*again, "-p", "iterations=8")
        start = self.path("results/digits/trial_00000/checkpoint_00000")
        self.assertEqual(self.start_of("next"), start + "3")
        self.assertEqual(self.iterations_in_log("results/next", "trial_00000"), [1, 2])
        shutil.move(start + "3", self.path("aside"))
        self.refused(*again, "-p", "iterations=8", "--resume", "auto", "--num-samples", "2")
        os.symlink("checkpoint_000002", start + "3")
        self.tune(*again, "-p", "iterations=8", "--resume", "auto", "--num-samples", "2")
        self.assertEqual(self.start_of("next"), start + "3")
        os.remove(start + "3")
        # The driver of the other experiment has deleted it: nobody starts from scratch because of that.
        self.tune("resume", "results/next", "--num-samples", "3", "--progress", "none", expect=1)
        last = self.json("ls", "results/next")[2]
        self.assertEqual((last["state"], last["training_iteration"]), ("ERROR", 0))
        self.assertIn(start + "3 cannot be trusted: it is not there any more", last["error"])
        self.tune("resume", "results/next", "--num-samples", "4", "--progress", "none",
                  "--resume-from-checkpoint", "digits:0@4", expect=1)
        self.assertEqual(self.start_of("next"), start + "2")
        self.assertEqual(self.iterations_in_log("results/next", "trial_00003"), [1, 2, 3, 4])

    def test_diff_says_which_tensors_differ_and_by_how_much(self):
        self.search("digits")
        done = self.tune("diff", "digits:1@2", "digits:1@6", expect=1)
        rows = [line.split() for line in done.out.splitlines()]
        self.assertEqual(rows[1][:5], ["layers.0.weight", "values", "F64", "[3]", "4"])
        self.assertEqual(rows[2][:5], ["steps", "values", "I64", "[1]", "4"])
        self.assertEqual(done.out.splitlines()[-1], "2 of 3 tensors differ")
        found = self.json("diff", "digits:1@2", "digits:1@6", expect=1)
        self.assertEqual((found["tensors"], found["differ"]), (3, 2))
        weight = found["changes"][0]
        self.assertEqual((weight["max_abs"], weight["nans_before"], weight["nans_after"]), (4.0, 1, 1))
        self.assertAlmostEqual(weight["relative_l2"], 4 / 5 ** 0.5)
        self.assertEqual(self.tune("diff", "digits:1", "digits:1").out, "no difference in 3 tensors\n")

    def test_diff_tells_what_was_added_removed_and_changed_in_type_and_shape(self):
        for name, tensors in (
                ("a", {"same": ("U8", [1]), "gone": ("U8", [1]), "type": ("U8", [2]), "shape": ("U8", [2, 1]),
                       "big": ("U64", [1]), "four": ("F4", [2]), "half": ("F16", [2]), "zero": ("F32", [1])}),
                ("b", {"same": ("U8", [1]), "new": ("U8", [1]), "type": ("I8", [2]), "shape": ("U8", [1, 2]),
                       "big": ("U64", [1]), "four": ("F4", [2]), "half": ("F16", [2]), "zero": ("F32", [1])})):
            is_b = name == "b"
            values = {"big": struct.pack("<Q", 2**64 - 1 - is_b), "four": bytes([is_b]),
                      "half": struct.pack("<ee", 1 + is_b, float("inf")), "zero": struct.pack("<f", is_b)}
            with blobs.Writer(self.path(name), tensors) as writer:
                for tensor, (dtype, shape) in tensors.items():
                    writer.write(tensor, values.get(tensor, bytes(2)[:shape[0] * (shape[1:] or [1])[0]]))
        found = {each["name"]: each for each in self.json("diff", "a", "b", expect=1)["changes"]}
        self.assertEqual({name: each["change"] for name, each in found.items()},
                         {"gone": "removed", "new": "added", "type": "dtype", "shape": "shape", "big": "values",
                          "four": "values", "half": "values", "zero": "values"})
        self.assertEqual(found["big"]["max_abs"], 1)  # which no double can tell from 0 there
        self.assertEqual((found["half"]["max_abs"], found["half"]["relative_l2"]), (1, 0))
        self.assertEqual(found["zero"]["relative_l2"], "Infinity")
        self.assertNotIn("max_abs", found["four"])
        self.assertIn("U8 [2] -> I8 [2]", self.tune("diff", "a", "b", expect=1).out)


if __name__ == "__main__":
    main()
