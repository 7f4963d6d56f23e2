/** Makes the reference of docs/library.md from the types that library/index.ts exports and from their doc comments. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Declared, declarationsIn, type Member } from './declarations.ts'
import { code, table } from './markdown.ts'

const index = 'library/index.ts'
/** These types have Kubernetes' own fields, or those of docs/reasons.md. */
const kubernetes = ['DeleteOptions', 'KubeList', 'KubeObject', 'Node', 'Pod', 'WatchEvent', 'Termination']
/** Lists the page's headings with the types that stand below each; all other types are at the end. */
const sections: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ['Cluster', ['Cluster', 'Users', 'Waiters']],
  ['cluster.clock', ['ClusterClock']],
  ['cluster.client', ['Client']],
  ['cluster.faults', ['ClusterFaults', 'ActiveFault', 'FaultRule', 'RequestFilter', 'FaultEffect', 'Fault']],
  ['cluster.journal', ['ClusterJournal', 'JournalFilter', 'Count', 'JournalEntry']],
  ['cluster.terminations', ['Terminations']],
  ['cluster.inject', ['Inject', 'InjectOptions', 'InjectedAnswer']],
]

export function libraryReference(): string {
  const { startCluster, StartClusterOptions, StatusError, isStatus, ...types } = exported()
  const inSections = new Set([...sections.flatMap(([, names]) => names), ...kubernetes])
  const others = Object.keys(types).filter((name) => !inSections.has(name))
  return [
    part(startCluster, { heading: '## startCluster' }),
    '## Options\n',
    optionsTable(StartClusterOptions?.members ?? []),
    ...sections.flatMap(([heading, names]) =>
      names.map((name, index) => part(types[name], { heading: index === 0 ? `## ${heading}` : `### ${name}` })),
    ),
    part(StatusError, { heading: '## StatusError' }),
    part(isStatus, { heading: '' }),
    '## Other types\n',
    ...others.sort().map((name) => part(types[name], { heading: `### ${name}` })),
  ].join('\n')
}

const optionsTable = (options: readonly Member[]): string =>
  table(
    ['option', 'type', 'default', ''],
    options.map((option) => {
      const type = option.signature.replace(/^\w+\??(?:: )?/, '')
      const isLiteral = !option.default.includes(' ')
      return [code(option.name), code(type), isLiteral ? code(option.default) : option.default, option.comment]
    }),
  )

/** Returns what the library exports, by name. Members that come from a base which it does not export are included. */
function exported(): Record<string, Declared> {
  const source = readFileSync(index, 'utf8')
  const sources = [...source.matchAll(/^export (?:type )?\{([^}]+)\} from '(.+)'$/gm)].map(
    ([, names = '', file = '']) => ({
      names: names.split(',').flatMap((name) => name.trim() || []),
      file: join('library', file),
    }),
  )
  const declarations = [...declarationsIn([index, ...sources.map(({ file }) => file)]).values()].flat()
  const names = ['startCluster', ...sources.flatMap((one) => one.names)]
  const find = (name: string): Declared => {
    const found = declarations.find((one) => one.name === name)
    if (!found) throw new Error(`no file that ${index} exports from declares ${name}`)
    const hidden = found.bases.filter((base) => !names.includes(base) && declarations.some(({ name }) => name === base))
    return {
      ...found,
      bases: found.bases.filter((base) => !hidden.includes(base)),
      members: [...hidden.flatMap((base) => find(base).members), ...found.members],
    }
  }
  return Object.fromEntries(names.map((name) => [name, find(name)]))
}

function part(declared: Declared | undefined, { heading }: { heading: string }): string {
  if (!declared) throw new Error(`${index} does not export a type that scripts/library-reference.ts describes`)
  const { name, signature, comment, members, bases } = declared
  const head = signature || [name, ...(bases.length ? [`extends ${bases.join(', ')}`] : [])].join(' ')
  const rows = members.map((member) => [code(member.signature), member.comment])
  return [
    ...(heading ? [`${heading}\n`] : []),
    `${code(head)}\n`,
    ...(comment ? [`${comment}\n`] : []),
    ...(rows.length ? [table(['member', ''], rows)] : []),
  ].join('\n')
}
