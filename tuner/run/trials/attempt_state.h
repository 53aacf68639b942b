// The life of an attempt as a state machine: its states, what can happen in them, and what comes
// of it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tuner/base/error.h"

namespace tune {

enum class AttemptState : std::uint8_t {
  preparing,          ///< what it starts from is fetched; its worker group does not know of it yet
  starting,           ///< its processes are launched, or reset
  training,           ///< told to train until the next result
  opening_save,       ///< the directory of a save is made
  saving,             ///< told to save
  handing_over,       ///< the directory that its function has saved into becomes a checkpoint
  blocked_on_commit,  ///< it has answered; what follows waits for the commit of a save
  /// Its plain program had ended with success before it could be paused: the rest of its output is
  /// read as results.
  draining,
  draining_blocked,  ///< the same, blocked on a commit
  // From here on it is known how it ends (Attempt::ending).
  leaving,       ///< its processes are on their way out, or commits are under way
  keeping_warm,  ///< commits are under way; its process stays for its trial
  /// Its processes were ended by a signal, which may reach the driver, too, and then that is no
  /// failure.
  awaiting_shutdown,
  examining,  ///< it has failed, and its log is read
  examined,
  closed,  ///< its end is recorded
};
inline constexpr auto attempt_states = static_cast<std::size_t>(AttemptState::closed) + 1;

enum class AttemptEvent : std::uint8_t {
  begin,      ///< its worker group is told of it
  step,       ///< it is told to train
  open_save,  ///< a directory is asked for
  save,       ///< it is told to save
  hand_over,
  block,
  replaced,    ///< its processes could not be reset; others are launched in their place
  ran_to_end,  ///< its plain program, which was asked to leave
  leave,       ///< how it ends is known
  keep_warm,   ///< the same, and its process stays
  signalled,   ///< the same, but for the driver's own signal
  gone,        ///< its processes are
  wait_over,   ///< no signal has reached the driver, or one has
  examine,
  examined,
  close,
};
inline constexpr auto attempt_events = static_cast<std::size_t>(AttemptEvent::close) + 1;

/// Some states lead to another one by an event.
struct AttemptTransition {
  std::initializer_list<AttemptState> from;
  AttemptEvent by;
  AttemptState to;
};

/// What the state becomes, by state and event; nothing: the event is refused.
constexpr auto attempt_transitions() {
  using enum AttemptState;
  using E = AttemptEvent;
  std::array<std::array<std::optional<AttemptState>, attempt_events>, attempt_states> table{};
  for (const AttemptTransition& row : std::initializer_list<AttemptTransition>{
           {{preparing}, E::begin, starting},
           // A result leads from one step to the next, and so does a save.
           {{starting, training, opening_save, saving, handing_over, blocked_on_commit},
            E::step,
            training},
           {{draining, draining_blocked}, E::step, draining},
           {{starting, training}, E::open_save, opening_save},
           {{opening_save}, E::save, saving},
           {{training}, E::hand_over, handing_over},
           {{starting, training, opening_save, saving, handing_over, blocked_on_commit},
            E::block,
            blocked_on_commit},
           {{draining, draining_blocked}, E::block, draining_blocked},
           {{starting, training, opening_save, saving, blocked_on_commit}, E::replaced, starting},
           {{leaving}, E::ran_to_end, draining},
           // How it ends is decided once.
           {{preparing, starting, training, opening_save, saving, handing_over, blocked_on_commit,
             draining, draining_blocked},
            E::leave,
            leaving},
           {{starting, training, opening_save, saving, handing_over, blocked_on_commit, draining,
             draining_blocked},
            E::signalled,
            awaiting_shutdown},
           {{training, opening_save, saving, handing_over, blocked_on_commit},
            E::keep_warm,
            keeping_warm},
           // Idle processes that go before it has begun are launched anew; lost ones may still go
           // after they were given up.
           {{preparing}, E::gone, preparing},
           {{leaving, keeping_warm}, E::gone, leaving},
           {{awaiting_shutdown}, E::gone, awaiting_shutdown},
           {{examining}, E::gone, examining},
           {{examined}, E::gone, examined},
           {{awaiting_shutdown}, E::wait_over, leaving},
           {{leaving}, E::examine, examining},
           {{examining}, E::examined, examined},
           {{leaving, keeping_warm, examined}, E::close, closed}}) {
    for (const AttemptState from : row.from) {
      table[static_cast<std::size_t>(from)][static_cast<std::size_t>(row.by)] = row.to;
    }
  }
  return table;
}

constexpr std::optional<AttemptState> state_after(AttemptState state, AttemptEvent event) {
  constexpr auto table = attempt_transitions();
  return table[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

/// What one attempt is in.
class AttemptLife {
 public:
  AttemptState state() const { return state_; }
  /// Told to train, by what its process does or what is left of its output.
  bool is_training() const {
    return state_ == AttemptState::training || state_ == AttemptState::draining;
  }
  bool is_draining() const {
    return state_ == AttemptState::draining || state_ == AttemptState::draining_blocked;
  }
  bool is_blocked() const {
    return state_ == AttemptState::blocked_on_commit || state_ == AttemptState::draining_blocked;
  }
  /// It is known how it ends.
  bool is_ending() const { return state_ >= AttemptState::leaving; }

  /// What the driver does. Its states must allow it.
  void apply(AttemptEvent event) {
    ensure(accept(event), "an attempt is told only what it may be told in its state");
  }
  /// What comes from outside. False: refused, nothing has changed.
  bool accept(AttemptEvent event) {
    const auto next = state_after(state_, event);
    if (next) state_ = *next;
    return next.has_value();
  }

 private:
  AttemptState state_ = AttemptState::preparing;
};

}  // namespace tune
