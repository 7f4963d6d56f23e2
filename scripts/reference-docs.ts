/**
 * The reference of docs/commands.md and docs/configuration.md: from the tables that --help and the config file's schema
 * are made of; that of docs/library.md from the library's types. `--write` puts it there; without, exit 1 when it is
 * stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { kubeconfigOption } from '../cli/access/cluster-access.ts'
import type { Command } from '../cli/command.ts'
import { commands } from '../cli/commands.ts'
import { clusterKeys } from '../cli/file-keys.ts'
import { rehearseOptions } from '../cli/rehearse/options.ts'
import { outputOption } from '../cli/terminal/output.ts'
import { clusterOptions } from '../cluster/settings.ts'
import { stateDirOption } from '../cluster/state-directory.ts'
import { featureGateNames, featureGateTable } from '../shared/config/feature-gates.ts'
import { flagOf, type Option, type Options, variableOf } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { libraryReference } from './library-reference.ts'
import { code, table } from './markdown.ts'

const [begin, end] = ['<!-- reference: made by scripts/reference-docs.ts -->\n', '<!-- end of reference -->']

const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\`\n`
/** Markdown would take these for its own. */
const plain = (text: string): string => text.replace(/[*<_]/g, '\\$&')

const shown = ({ type, default: value }: Option<unknown>): string => code(type.show?.(value))
const flagCell = (name: string, { type, short }: Option<unknown>): string =>
  code([flagOf(name) + (short ? `, -${short}` : ''), type.placeholder].join(' ').trim())

/** Told once, before all commands. */
const common: readonly Option<unknown>[] = [configOption, stateDirOption, kubeconfigOption, outputOption]

function commandSection(name: string, { purpose, usage, options, notes = [] }: Command): string {
  const takesAllKeys = name === 'up' || name === 'config'
  const own = Object.entries(options).filter(
    ([key, one]) => !common.includes(one) && !(takesAllKeys && Object.hasOwn(clusterOptions, key)),
  )
  const rows = own.map(([key, one]) => [flagCell(key, one), plain(one.help), shown(one)])
  return [
    `### ${name}\n`,
    `${plain(purpose)}\n`,
    block(['kubestage', name, usage, '[flags]'].filter(Boolean).join(' ')),
    ...(notes.length ? [block(notes.join('\n'))] : []),
    ...(rows.length ? [table(['flag', '', 'default'], rows)] : []),
    ...(takesAllKeys ? ['And a flag for each key of the [configuration](configuration.md#all-keys).\n'] : []),
  ].join('\n')
}

async function commandsReference(): Promise<string> {
  const loaded = await Promise.all(
    Object.entries(commands).map(async ([name, { load }]) => [name, (await load()).default] as const),
  )
  return loaded.map(([name, command]) => commandSection(name, command)).join('\n')
}

function keysTable(options: Options): string {
  const rows = Object.entries(options).map(([name, one]) => [
    code(name),
    `${flagCell(name, one)} ${code(variableOf(name))}`,
    plain(one.help),
    shown(one),
  ])
  return table(['key', 'flag, variable', '', 'default'], rows)
}

function gatesTable(): string {
  const rows = featureGateNames.map((name) => {
    const { help, stage, default: isOn } = featureGateTable[name]
    return [code(name), help, stage.toLowerCase() || 'GA', code(String(isOn))]
  })
  return table(['feature gate', '', 'stage', 'default'], rows)
}

const configurationReference = (): string =>
  [
    keysTable(clusterKeys),
    'For [`kubestage rehearse`](rehearse.md) alone:\n',
    keysTable(rehearseOptions),
    'Names for `featureGates`, with their stages in Kubernetes:\n',
    gatesTable(),
  ].join('\n')

const documents: Record<string, string> = {
  'docs/commands.md': await commandsReference(),
  'docs/configuration.md': configurationReference(),
  'docs/library.md': libraryReference(),
}
for (const [name, reference] of Object.entries(documents)) {
  const file = new URL(`../${name}`, import.meta.url)
  const text = readFileSync(file, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.slice(rest.indexOf(end))
  if (before === undefined || after === undefined) throw new Error(`${name} has no ${begin}`)
  const wanted = `${before}${begin}\n${reference}\n${after}`
  if (process.argv.includes('--write')) writeFileSync(file, wanted)
  else if (wanted !== text) {
    console.error(
      `the reference in ${name} is stale: run \`node scripts/reference-docs.ts --write\` and commit the result`,
    )
    process.exitCode = 1
  }
}
