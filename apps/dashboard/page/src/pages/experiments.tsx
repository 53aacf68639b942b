// All experiments of the report, where there are several.
import { isExperiment, numberOf, type Report } from "../data";
import { short } from "../format";
import { linkTo } from "../store";

export function Experiments({ report, at }: { report: Report; at: number }) {
  return (
    <nav aria-label="experiments"><div class="table"><table>
      <thead><tr><th>experiment</th><th>trials</th><th>failed</th><th>best</th><th>of</th></tr></thead>
      <tbody>{report.experiments.map((each, i) => isExperiment(each)
        ? <tr key={i} class={i === at ? "chosen" : undefined}>
          <td><a href={linkTo({ experiment: i, trial: null })} aria-current={i === at ? "page" : undefined}>{each.raw.status.name}</a></td>
          <td class="number">{each.count.toLocaleString("en-US")}</td><td class="number">{each.raw.status.ends.failed ?? 0}</td>
          <td class="number">{each.raw.status.best ? short(numberOf(each.raw.status.best.value)) : ""}</td><td>{each.raw.status.best?.metric ?? each.raw.objectives.map((one) => one.metric).join(", ")}</td>
        </tr>
        : <tr key={i}><td><code>{each.directory}</code></td><td colSpan={4}>{each.problem}</td></tr>)}</tbody>
    </table></div></nav>
  );
}
