import { UsageError } from '../../shared/config/option.ts'
import { askServer } from '../access/ask-server.ts'
import { accessTo, clusterPlace, type Place } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'
import { uiActionsOption } from './actions-option.ts'

export default command({
  purpose: 'Prints a link to the page that shows what happens in a cluster, or what a record has of it.',
  usage: '[FILE]',
  options: { ...clusterPlace, uiActions: uiActionsOption, output: outputOption },
  notes: [
    'The link works once, within two minutes. The certificate is signed by the CA of the cluster, of which a browser warns.',
    "With the FILE of kubestage record the page is served by this command, until Ctrl-C, at this machine's loopback address.",
  ],
  async run({ values, positionals: [file, ...rest] }) {
    if (rest.length > 0) throw new UsageError('usage: kubestage ui [FILE]')
    if (file !== undefined) {
      if (values.uiActions) throw new UsageError('--ui-actions needs a running cluster: leave out FILE')
      const { serveFile } = await import('./serve-file.ts')
      return await serveFile(file)
    }
    const url = await pageLink(values, values.uiActions)
    if (values.output !== 'text') await printData(values.output, { url })
    else process.stdout.write(`${url}\n`)
    return 0
  },
})

/** Asks the cluster for a one-time link to its page. */
export async function pageLink(place: Place, actions: boolean): Promise<string> {
  const { server } = await accessTo(place)
  const question = { method: 'POST', path: '/kubestage/v1/ui-links', body: { actions } }
  const { path } = await askServer<{ path: string }>(place, question)
  return new URL(path, server).href
}
