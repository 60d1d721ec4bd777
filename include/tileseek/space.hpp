#pragma once
// Search spaces: what may vary, which rules hold between parameters, and the lattice that strategies search.
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/domain.hpp>
#include <tileseek/space/lattice.hpp>
#include <tileseek/space/space.hpp>
