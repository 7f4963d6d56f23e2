import { nodeCount } from '../cluster/node-names.ts'
import { version } from '../cluster/package.ts'
import { clusterOptions } from '../cluster/settings.ts'
import { option, variableOf } from '../shared/config/option.ts'
import { flag } from '../shared/config/option-types.ts'
import { configSchema } from '../shared/config/schema.ts'
import { command } from './command.ts'
import { clusterKeys, fileKeys } from './file-keys.ts'
import { outputOption, printData, printTable } from './terminal/output.ts'

export default command({
  purpose:
    'Prints what kubestage up would go by, and whether each value is from a flag, a variable, the config file, or a default.',
  options: {
    ...clusterOptions,
    schema: option(flag, { default: false, help: 'Print the JSON schema of kubestage.yaml instead' }),
    output: outputOption,
  },
  async run({ values: given, origins, file }) {
    if (given.schema) {
      await printData(
        'json',
        configSchema({ id: `urn:kubestage:config:${version}`, title: 'kubestage.yaml' }, fileKeys),
      )
      return 0
    }
    const values = { ...given, nodes: nodeCount(given, origins.nodes !== 'default') }
    const names = Object.keys(clusterKeys) as (keyof typeof clusterKeys)[]
    if (values.output !== 'text') {
      await printData(
        values.output,
        Object.fromEntries(names.map((name) => [name, { value: shown(name, values[name]), origin: origins[name] }])),
      )
      return 0
    }
    const rows = names.map((name) => {
      const where = { variable: ` ${variableOf(name)}`, 'config file': ` ${file}`, flag: '', default: '' }[
        origins[name]
      ]
      return [name, String(shown(name, values[name]) ?? ''), origins[name] + where]
    })
    printTable([['KEY', 'VALUE', 'FROM'], ...rows])
    return 0
  },
})

/** Returns a value as a user would write it. */
function shown(name: keyof typeof clusterKeys, value: unknown): unknown {
  const { show } = clusterKeys[name].type as { show?(value: unknown): string | undefined }
  if (show) return show(value)
  return typeof value === 'object' ? JSON.stringify(value) : value
}
