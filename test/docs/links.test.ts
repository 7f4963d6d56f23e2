/** What pages point at exists: files, headings, commands, flags, messages. Their shell blocks are tried by blocks.test.ts. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { loadAll } from 'js-yaml'
import t from 'tap'
import { apiServerOptions } from '../../apiserver/options.ts'
import { commands } from '../../cli/commands.ts'
import { rehearseOptions } from '../../cli/rehearse/options.ts'
import { clusterOptions } from '../../cluster/settings.ts'
import { kubeletOptions } from '../../kubelet/config.ts'
import { readConfigFile } from '../../shared/config/config-file.ts'
import { flagOf, type Options } from '../../shared/config/option.ts'
import { schemaMistakes } from '../../shared/config/schema-mistakes.ts'
import { repository } from '../harness/cluster.ts'
import { type Page, readPage } from '../harness/doc-page.ts'

const files = globSync(['*.md', 'docs/*.md', 'examples/**/*.md', 'test/docs/*.md'], {
  cwd: repository,
  exclude: (name) => name.includes('node_modules'),
})
const pages = new Map(files.map((file) => [file, readPage(file)]))

t.test('links', async (t) => {
  for (const { file, prose } of pages.values()) {
    for (const [index, line] of prose.entries()) {
      for (const [, target = ''] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue
        t.equal(problemWith(file, target), undefined, `${file}:${index + 1}: ${target}`)
      }
    }
  }
})

/** Undefined: it is there. */
function problemWith(from: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#')
  const file = path ? normalize(join(dirname(from), path)) : from
  if (!existsSync(join(repository, file))) return 'is not there'
  if (anchor === undefined) return
  const page = pages.get(file)
  return page && anchorsOf(page).includes(anchor) ? undefined : 'has no such heading'
}

/** As GitHub makes them of headings. */
function anchorsOf({ prose }: Page): string[] {
  const headings = prose.flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? [])
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

t.test('every page of docs/ is in its table of contents', async (t) => {
  const contents = pages.get('docs/README.md')?.prose.join('\n') ?? ''
  for (const file of files.filter((file) => /^docs\/(?!README)/.test(file))) {
    t.ok(contents.includes(`(${file.replace('docs/', '')})`), file)
  }
})

t.test('commands and their flags', async (t) => {
  let seen = 0
  for (const { at, text } of [...pages.values()].flatMap(codeOf)) {
    for (const [, name = '', rest = ''] of text.matchAll(invocation)) {
      const flags = [...(rest.split(' -- ')[0] ?? '').matchAll(/(?<=\s)--[a-z][\w-]*/g)].map(([flag]) => flag)
      const known = await flagsOf(name)
      seen++
      t.ok(known, `${at}: kubestage ${name}`)
      for (const flag of flags) t.ok(known?.includes(flag), `${at}: kubestage ${name} ${flag}`)
    }
  }
  t.ok(seen > 50, `${seen} commands`)
})

/** Where a command may begin; its name, and the rest up to what ends it. */
const invocation = /(?:^|npx |[$("|;&] ?)kubestage ([a-z][\w-]*)((?: [^|;&`\n)"]*)?)/gm

/** Commands whose arguments are not Kubestage's flags. */
const withoutFlags = ['help', 'version', 'completion']

/** Undefined: there is no such command. */
async function flagsOf(name: string): Promise<string[] | undefined> {
  if (withoutFlags.includes(name)) return []
  const loaded = await commands[name]?.load()
  return loaded && ['--help', ...Object.keys(loaded.default.options).map(flagOf)]
}

/** Blocks of commands, and what stands between backticks. */
function codeOf({ file, prose, blocks }: Page): { at: string; text: string }[] {
  const inline = prose.flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].map(([, text = '']) => ({ at: `${file}:${index + 1}`, text })),
  )
  const commands = blocks.filter(({ language }) => language === 'sh' || language === 'console')
  return [...inline, ...commands.map(({ at, text }) => ({ at, text: text.replace(/ +#.*$/gm, '') }))]
}

/** Flags of other programs: kubectl, Helm, the benchmark, the differential tool, Node, kube-apiserver, and the programs that envtest starts. */
const flagsOfOthers = [
  ...['--field-selector', '--force', '--grace-period', '--raw', '--reason', '--server-side'],
  ...['--profile', '--rounds', '--only', '--record', '--area'],
  '--no-parallel-scavenge',
  '--kubestage-controllers',
  '--bump-revision',
  ...['--audit-log-format', '--audit-log-mode', '--audit-webhook-mode', '--requestheader-client-ca-file'],
  ...['--version', '--enable-admission-plugins', '--runtime-config', '--kube-apiserver', '--enable-aggregator-routing'],
]

t.test('flags that stand alone', async (t) => {
  const ours = (await Promise.all(Object.keys(commands).map(flagsOf))).flat()
  const known = new Set([
    ...flagsOfOthers,
    ...ours,
    ...[...Object.keys(kubeletOptions), ...Object.keys(apiServerOptions)].map(flagOf),
  ])
  for (const { at, text } of [...pages.values()].flatMap(codeOf)) {
    const [flag] = /^--[a-z][\w-]*/.exec(text) ?? []
    if (flag) t.ok(known.has(flag), `${at}: ${flag}`)
  }
})

t.test('blocks are written in the language that they say', async (t) => {
  const inFile: Options = { ...clusterOptions, ...rehearseOptions }
  const file = join(t.testdir(), 'kubestage.yaml')
  for (const { at, language, text } of [...pages.values()].flatMap(({ blocks }) => blocks)) {
    if (language === 'sh')
      t.match(spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' }), { status: 0, stderr: '' }, at)
    if (language !== 'yaml') continue
    t.doesNotThrow(() => loadAll(text), at)
    if (!Object.keys(inFile).some((key) => text.includes(`\n${key}: `) || text.startsWith(`${key}: `))) continue
    writeFileSync(file, text)
    await t.resolves(readConfigFile(file, { options: inFile, schemaMistakes }), at)
  }
})

t.test("the product's messages are quoted as they are", async (t) => {
  const sources = globSync(['{apiserver,cli,cluster,kubelet,shared}/**/*.ts', 'bin/**/*.mjs'], { cwd: repository })
  const texts = sources.map((file) => readFileSync(join(repository, file), 'utf8')).join('\n')
  const quoted = [...pages.values()].flatMap(codeOf).filter(({ text }) => text.startsWith('kubestage: '))
  t.ok(quoted.length > 5, `${quoted.length} messages`)
  for (const { at, text } of quoted) {
    // Between what differs (…) and what the sources put together from pieces (;, :) stand words of theirs.
    const pieces = text.replace('kubestage: ', '').split(/…|[;:] |,? or /)
    for (const piece of pieces.map((piece) => piece.trim()).filter(({ length }) => length > 3))
      t.ok(texts.includes(piece), `${at}: ${piece}`)
  }
})
