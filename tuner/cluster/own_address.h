// At which address of this machine others reach it.
#pragma once

#include <string>
#include <vector>

namespace tune {

/// The address of this machine from which `hosts` are reached; 127.0.0.1 if none of them has an
/// address.
std::string address_towards(const std::vector<std::string>& hosts);

}  // namespace tune
