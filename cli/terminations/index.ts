import type { Termination } from '../../shared/api/termination.ts'
import type { KubeList } from '../../shared/api/types.ts'
import { option } from '../../shared/config/option.ts'
import { oneOf, text } from '../../shared/config/option-types.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData, printTable } from '../terminal/output.ts'
import { groupNames, summarize, tableOf } from './summary.ts'

export default command({
  purpose: 'Counts the recorded terminations by reason, or by what else they have in common.',
  options: {
    ...clusterPlace,
    by: option(oneOf(...groupNames), { default: 'reason', help: 'What to group them by' }),
    namespace: option(text, { default: '', short: 'n', help: 'Only of this namespace' }),
    selector: option(text, {
      default: '',
      help: "Only those that this field selector matches, as 'cause=PodDeleted,verdict!=Stopped'",
    }),
    output: outputOption,
  },
  notes: ['kubectl get terminations -A -o wide lists them one by one.'],
  async run({ values }) {
    const { by, namespace, selector, output } = values
    const scope = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
    const query = selector ? `?${new URLSearchParams({ fieldSelector: selector })}` : ''
    const path = `/apis/kubestage.dev/v1${scope}/terminations${query}`
    const { items } = await askServer<KubeList<Termination>>(values, { path })
    const groups = summarize(items, by)
    if (output !== 'text') await printData(output, { by, total: items.length, items: groups })
    else printTable(tableOf(groups, by))
    return 0
  },
})
