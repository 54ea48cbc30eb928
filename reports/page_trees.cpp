#include <map>

#include "harness/numerics/tree_drawing.hpp"
#include "reports/page_data.hpp"
#include "reports/page_json.hpp"

namespace parity {

std::string page_trees(std::span<const ProbedTree> trees) {
  PageJson json;
  // Paths share few orders: each is drawn once.
  std::map<std::string, std::int64_t> number_of;
  std::vector<std::string> drawings;
  json.open('{').key("trees").array(trees, [&](const ProbedTree& t) {
    json.open('{').key("id").string(t.device.id).key("backend").string(t.device.backend);
    json.key("device").string(t.device.name).key("driver").string(t.device.driver);
    json.key("op").string(t.op).key("path").string(t.path).key("formats").string(t.formats);
    json.key("name").string(t.name).key("terms").integer(t.terms);
    if (!t.contradiction.empty()) json.key("contradiction").string(t.contradiction);
    if (!t.declared.empty())
      json.key("declared").array(t.declared, [&](const std::string& order) { json.string(order); });
    if (t.agrees) json.key("agrees").integer(*t.agrees ? 1 : 0);
    if (t.tree) {
      const auto [place, fresh] =
          number_of.try_emplace(t.tree->text(), static_cast<std::int64_t>(drawings.size()));
      if (fresh) drawings.push_back(draw_svg(*t.tree, fmt::format("{}, {} terms", t.order, t.terms)));
      json.key("order").string(t.order).key("drawing").integer(place->second);
    } else {
      json.key("why").string(t.why);
    }
    json.close('}');
  });
  json.key("drawings").array(drawings, [&](const std::string& drawing) { json.string(drawing); });
  return json.close('}').take();
}

}  // namespace parity
