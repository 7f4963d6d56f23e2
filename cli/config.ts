import { option, variableOf } from '../shared/config/option.ts'
import { flag } from '../shared/config/option-types.ts'
import { configSchema } from '../shared/config/schema.ts'
import { clusterOptions } from './cluster-options.ts'
import { command } from './command.ts'
import { outputOption, printJson, printTable } from './output.ts'
import { rehearseOptions } from './rehearse/options.ts'

const { config: _, ...fileOptions } = clusterOptions

export default command({
  purpose:
    'Prints what kubestage up would go by, and whether each value is from a flag, a variable, the config file, or a default.',
  options: {
    ...clusterOptions,
    schema: option(flag, { default: false, help: 'Print the JSON schema of kubestage.yaml instead' }),
    output: outputOption,
  },
  async run({ values, origins }) {
    if (values.schema) {
      printJson(configSchema('kubestage.yaml', { ...fileOptions, ...rehearseOptions }))
      return 0
    }
    const names = Object.keys(fileOptions) as (keyof typeof fileOptions)[]
    if (values.output === 'json') {
      printJson(
        Object.fromEntries(names.map((name) => [name, { value: shown(name, values[name]), origin: origins[name] }])),
      )
      return 0
    }
    const rows = names.map((name) => {
      const origin = origins[name] === 'variable' ? `variable ${variableOf(name)}` : origins[name]
      return [name, String(shown(name, values[name]) ?? ''), origin]
    })
    printTable([['KEY', 'VALUE', 'FROM'], ...rows])
    return 0
  },
})

/** As one would write it. */
function shown(name: keyof typeof fileOptions, value: unknown): unknown {
  const { show } = fileOptions[name].type as { show?(value: unknown): string | undefined }
  if (show) return show(value)
  return typeof value === 'object' ? JSON.stringify(value) : value
}
