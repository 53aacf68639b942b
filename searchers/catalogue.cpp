// From the options in a spec to searchers.
#include "searchers/searchers.h"
#include "tuner/core/options.h"

namespace tune {

namespace {

std::vector<Json> read_points(OptionReader& reader, const PolicyContext& context) {
  const std::string name = "points_to_evaluate";
  const Json points = reader.get(name, Json::array());
  reader.require(points.is_array(), name, "a list of points");
  if (context.num_samples >= 0 && std::ssize(points) > context.num_samples) {
    throw OptionError("/" + name, std::to_string(points.size()) +
                                      " points to evaluate are more than num_samples = " +
                                      std::to_string(context.num_samples));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto problems = context.space.check_preset(points[i]);
    if (problems.empty()) continue;
    const std::string place = "/" + name + "/" + std::to_string(i);
    throw OptionError(place + problems[0].pointer, problems[0].sentence);
  }
  return points;
}

std::unique_ptr<Searcher> variants_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  VariantOptions options;
  options.num_samples = context.num_samples;
  options.seed = context.seed;
  options.points_to_evaluate = read_points(reader, context);
  options.constant_grid_search = reader.get("constant_grid_search", options.constant_grid_search);
  options.skip_duplicates = reader.get("skip_duplicates", options.skip_duplicates);
  reader.finish();
  if (options.constant_grid_search && options.skip_duplicates) {
    throw OptionError("/skip_duplicates",
                      "skip_duplicates draws again what constant_grid_search keeps: choose one");
  }
  return make_variants(context.space, std::move(options));
}

std::unique_ptr<Searcher> grid_from(const Json& json, const PolicyContext& context) {
  if (!context.space.has_grid()) {
    throw OptionError("",
                      "the searcher 'grid' needs at least one 'grid_search' in the param space");
  }
  return variants_from(json, context);
}

}  // namespace

void add_searchers(Catalogue& catalogue) {
  add_factory(catalogue.searchers, "random", variants_from);
  add_factory(catalogue.searchers, "grid", grid_from);
}

}  // namespace tune
