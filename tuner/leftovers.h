// What earlier drivers have left of an experiment that is opened again, and no record names.
#pragma once

#include "tuner/engine.h"

namespace tune {

/// What an earlier driver left running ends before anything of its is swept or started anew.
void look_for_orphans(Engine& engine);

/// Of a journal whose damaged end is to be cut off. Error (user) if what only that knows is only on
/// the remote: it would be removed from there as what nobody needs.
void require_no_unknown_remote(Engine& engine);

/// Checkpoints that only the damaged part of a journal knew are somebody's work: out of the way of
/// new ones, and kept.
void set_aside_unknown(Engine& engine);

/// Whatever a record does not name is what a crash has left: half-written checkpoints, and those
/// whose deletion was decided. What cannot be removed costs its space and nothing else.
void sweep_leftovers(Engine& engine);

}  // namespace tune
