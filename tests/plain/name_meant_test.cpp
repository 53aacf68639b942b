// Of the names that were printed, those that are probably meant.
#include "tuner/plain/name_meant.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("A metric is meant by its name in other letters, in a longer one, or by one that is near",
          "[unit][plain]") {
  CHECK(names_meant("val_loss", Names{"loss", "Val-Loss"}) == Names{"Val-Loss"});
  CHECK(names_meant("loss", Names{"epoch", "avg.loss"}) == Names{"avg.loss"});
  CHECK(names_meant("loss", Names{"train/loss", "val/loss", "lr"}) ==
        Names{"train/loss", "val/loss"});
  CHECK(names_meant("loss", Names{"avg_loss"}) == Names{"avg_loss"});
  CHECK(names_meant("accuracy", Names{"acuracy"}) == Names{"acuracy"});
  CHECK(names_meant("loss", Names{"floss", "gloss"}) == Names{"floss"});
  CHECK(names_meant("val_accuracy", Names{"train_acc", "val_acc", "time"}) == Names{"val_acc"});
  CHECK(names_meant("acc", Names{"train/accuracy", "val/accuracy"}) ==
        Names{"train/accuracy", "val/accuracy"});
}

TEST_CASE("Whoever names a metric that is not there is asked for all that are meant",
          "[unit][plain]") {
  CHECK(did_you_mean("loss", Names{"a/loss", "b/loss", "lr"}) ==
        "did you mean 'a/loss' or 'b/loss'?");
  CHECK(did_you_mean("loss", Names{"lr"}) == "");
}

TEST_CASE("The nearest of the printed names has the metric's last words", "[unit][plain]") {
  CHECK(nearest_printed("val acc", Names{"loss", "acc"}) == "acc");
  CHECK(nearest_printed("val_acc", Names{"epoch", "accuracy"}) == "accuracy");
  CHECK(nearest_printed("val_top1_acc", Names{"acc", "top1_acc", "val_loss"}) == "top1_acc");
  CHECK(nearest_printed("val_loss", Names{"lr", "val_acc"}) == "val_acc");
  CHECK(nearest_printed("val_loss", Names{"lr", "epoch"}).empty());
  CHECK(nearest_printed("--", Names{"lr"}).empty());
}

TEST_CASE("The end of a text is meant if it has the metric's words, perhaps cut short",
          "[unit][plain]") {
  CHECK(end_meant("val_loss", "epoch 3 | Val Loss: ") == "Val Loss");
  CHECK(end_meant("val loss", "train, validation-loss = '") == "validation-loss");
  CHECK(end_meant("loss", "Loss") == "Loss");
  CHECK(end_meant("val_loss", "loss: ").empty());
  CHECK(end_meant("val_loss", "val loss now ").empty());
  CHECK(end_meant("--", "loss").empty());
  CHECK(end_meant("loss", "").empty());
}

TEST_CASE("No name is meant that has only parts of the metric's words, or is the metric",
          "[unit][plain]") {
  CHECK(names_meant("eval/top1_accuracy", Names{"loss", "lr"}).empty());
  CHECK(names_meant("loss", Names{"loss"}).empty());
  CHECK(names_meant("loss", Names{"loss_scale", "learning_rate"}).empty());
  CHECK(names_meant("val_accuracy", Names{"train_acc", "time"}).empty());
  CHECK(names_meant("--", Names{"loss"}).empty());
  CHECK(names_meant("loss", {}).empty());
}

}  // namespace
}  // namespace tune
