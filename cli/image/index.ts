import { clusterOptions } from '../../cluster/settings.ts'
import type { ImageEntry } from '../../kubelet/runtime/images/image-entry.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { commandMap, flag, oneOf, text } from '../../shared/config/option-types.ts'
import type { Resolved } from '../../shared/config/resolve.ts'
import { accessTo, clusterPlace, elsewhere, noClusterRuns } from '../access/cluster-access.ts'
import type { ImageSource, ShownEntry, ShownMeaning } from '../access/image-source.ts'
import { findRunning } from '../access/running.ts'
import { command } from '../command.ts'
import { outputOption, printData, printTable } from '../terminal/output.ts'
import { shellWord } from '../terminal/shell-word.ts'
import { unknownWord } from '../terminal/unknown-word.ts'
import type { Edit } from './edit-config.ts'

const usage =
  '(list | which IMAGE [-- COMMAND…] | check FILE… | add (PATTERN [-- COMMAND…] | PATTERN=COMMAND) | remove PATTERN | ' +
  'load FILE|FOLDER|- [NAME] | import FOLDER|FILE NAME | import --from docker|containerd [IMAGE…] | pull NAME | ls | rm NAME|ID… | prune)'
const options = {
  ...clusterPlace,
  path: option(text, { default: '', help: 'add: folder that comes first on PATH' }),
  stopSignal: option(text, { default: '', help: 'add: signal that asks the program to end, instead of SIGTERM' }),
  save: option(flag, { default: false, help: 'add, remove: in the config file, too, for clusters to come' }),
  node: option(text, { default: '', help: 'Only on this node; by default on all' }),
  image: clusterOptions.image,
  imagePath: clusterOptions.imagePath,
  imageStopSignal: clusterOptions.imageStopSignal,
  imageStore: clusterOptions.imageStore,
  pullImages: clusterOptions.pullImages,
  registryMirror: clusterOptions.registryMirror,
  insecureRegistry: clusterOptions.insecureRegistry,
  from: option(oneOf('', 'docker', 'containerd'), {
    default: '',
    help: 'import: take images, the given ones or all, out of a Docker or a containerd that runs here',
  }),
  output: outputOption,
}
type Request = Resolved<typeof options>

const deeds: Readonly<Record<string, (request: Request, words: string[]) => Promise<number>>> = {
  list,
  which,
  check,
  add,
  remove,
}
/** These subcommands work with the store of images, whose code is loaded only then. */
const storeDeeds = ['load', 'import', 'pull', 'ls', 'rm', 'prune']

export default command({
  purpose:
    'Says what images are: programs of this machine, or images that are loaded; and changes it while a cluster runs.',
  usage,
  options,
  notes: [
    '  list    all that is known: of several patterns that fit the first one counts',
    '  which   what a container with this image would run, and whether it is there; exit code 1 when it cannot start',
    '  check   the same of all containers in manifests; files that arguments name and that are not there are told, and no reason to fail',
    '  add     from now on images of this name are that program; pods that wait for the image start',
    '  remove  removes the program of an image; containers that run are not affected',
    '  load    takes images out of an archive of docker save or an OCI layout (- reads standard input); NAME names one that has none',
    '  import  makes an image of a folder, or of an archive of one; it has no command. With --from it copies images of Docker or containerd',
    '  pull    takes an image from its registry, with what docker login has kept for it',
    '  ls, rm  the images that are loaded; rm also removes the layers that no other image has',
    '  prune   removes what an interrupted load has left',
    'Where no cluster runs, or --image or its like are given, list, which and check tell what kubestage up would make of the configuration.',
  ],
  complete: async ({ positionals: [word] }) => (word === undefined ? [...Object.keys(deeds), ...storeDeeds] : []),
  async run(request) {
    const [word = 'list', ...words] = request.positionals
    const deed = Object.hasOwn(deeds, word) ? deeds[word] : undefined
    if (deed) return deed(request, words)
    if (!storeDeeds.includes(word)) throw unknownWord('image', word, [...Object.keys(deeds), ...storeDeeds])
    const { runWithStore } = await import('./store.ts')
    return runWithStore(word, words, request.values)
  },
})

const wrongCall = (): UsageError => new UsageError(`usage: kubestage image ${usage}`)

/** Returns the images of the cluster that is meant; undefined where none runs. */
async function runningImages({ values }: Request) {
  const isElsewhere = elsewhere(values) !== undefined
  const running = isElsewhere ? undefined : findRunning(values.stateDir).running
  if (!running && !isElsewhere) return undefined
  const { imagesOf } = await import('./nodes.ts')
  return imagesOf(await accessTo(values), { only: values.node, origins: running?.imageOrigins })
}

async function sourceOf(request: Request): Promise<ImageSource> {
  const { values, origins } = request
  const isAsked = [origins.image, origins.imagePath, origins.imageStopSignal].includes('flag')
  const running = isAsked ? undefined : await runningImages(request)
  if (running) return running
  const { configuredImages } = await import('../access/image-source.ts')
  return configuredImages(values, origins)
}

async function list(request: Request, words: string[]): Promise<number> {
  if (words.length > 0) throw wrongCall()
  const entries = await (await sourceOf(request)).entries()
  if (request.values.output !== 'text') await printData(request.values.output, entries)
  else printTable([['PATTERN', 'RUNS', 'FIRST ON PATH', 'STOP SIGNAL', 'FROM'], ...entries.map(entryRow)])
  return 0
}

async function which(request: Request, words: string[]): Promise<number> {
  const [image, ...own] = words
  if (image === undefined) throw wrongCall()
  const meaning = await (await sourceOf(request)).meaning(image, { command: own })
  if (request.values.output !== 'text') await printData(request.values.output, meaning)
  else for (const [name, value] of meaningLines(meaning)) process.stdout.write(`${name.padEnd(13)} ${value}\n`)
  return meaning.problem ? 1 : 0
}

async function check(request: Request, files: string[]): Promise<number> {
  if (files.length === 0) throw wrongCall()
  const { checkContainers } = await import('./check.ts')
  const { remarkLines } = await import('./remarks.ts')
  const checked = await checkContainers(files, await sourceOf(request))
  if (request.values.output !== 'text') await printData(request.values.output, checked)
  else {
    const rows = checked.map(({ object, container, image, program, problem, missing }) => [
      object,
      container,
      image,
      program ?? '-',
      problem?.reason ?? missing?.map((file) => `no ${file}?`).join(' ') ?? '',
    ])
    printTable([['OBJECT', 'CONTAINER', 'IMAGE', 'PROGRAM', 'PROBLEM'], ...rows])
    for (const line of remarkLines(checked)) process.stderr.write(`${line}\n`)
  }
  return checked.some(({ problem }) => problem) ? 1 : 0
}

async function add(request: Request, words: string[]): Promise<number> {
  const { path, stopSignal } = request.values
  const [pattern, ...own] = asWords(words)
  if (!pattern) throw wrongCall()
  if (own.length === 0 && !path && !stopSignal)
    throw new UsageError(`say which program: kubestage image add ${shellWord(pattern)} -- /path/to/program`)
  const entry: ImageEntry = {
    pattern,
    ...(own.length > 0 && { command: own }),
    ...(path && { path }),
    ...(stopSignal && { stopSignal }),
  }
  const edits: Edit[] = [
    ...(own.length > 0 ? [{ key: 'image', pattern, value: own }] : []),
    ...(path ? [{ key: 'imagePath', pattern, value: path }] : []),
    ...(stopSignal ? [{ key: 'imageStopSignal', pattern, value: stopSignal }] : []),
  ]
  return change(request, {
    question: { method: 'PUT', path: '/debug/images', body: entry },
    edits,
    done: `${pattern} is known`,
  })
}

/** `'nginx:*=nginx -g "daemon off;"'`, as `--image` has it, is told apart by its `=`: no image has one. */
function asWords(words: string[]): string[] {
  const [only = ''] = words
  if (words.length !== 1 || !only.includes('=')) return words
  try {
    return Object.entries(commandMap.fromText(only)).flat(2)
  } catch (error) {
    throw new UsageError(`image add: PATTERN=COMMAND ${(error as Error).message}`)
  }
}

async function remove(request: Request, [pattern, ...rest]: string[]): Promise<number> {
  if (!pattern || rest.length > 0) throw wrongCall()
  const question = { method: 'DELETE', path: `/debug/images?pattern=${encodeURIComponent(pattern)}` }
  const edits = ['image', 'imagePath', 'imageStopSignal'].map((key) => ({ key, pattern }))
  return change(request, { question, edits, done: `${pattern} is forgotten` })
}

interface Change {
  question: { method: string; path: string; body?: unknown }
  edits: readonly Edit[]
  done: string
}

/** Changes the running cluster, if there is one, and the config file if that is wanted. */
async function change(request: Request, { question, edits, done }: Change): Promise<number> {
  const { save, config } = request.values
  const running = await runningImages(request)
  if (!running && !save) throw noClusterRuns(request.values, 'or write it into the config file with --save')
  const places = (await running?.change(question))?.nodes ?? []
  if (save) {
    const { editConfigFile } = await import('./edit-config.ts')
    const file = config || 'kubestage.yaml'
    editConfigFile(file, edits)
    places.push(file)
  }
  process.stdout.write(`${done} (${places.join(', ')})\n`)
  return 0
}

const shownCommand = (words: readonly string[] = []): string => words.map(shellWord).join(' ')

const entryRow = ({ pattern, command: words, path = '', stopSignal = '', origin }: ShownEntry): string[] => [
  pattern,
  shownCommand(words),
  path,
  stopSignal,
  origin,
]

function meaningLines({
  image,
  entries,
  command: words,
  path,
  stopSignal,
  program,
  missing = [],
  problem,
}: ShownMeaning): [string, string][] {
  const said = entries.map(({ pattern, origin }) => `${pattern} (${origin})`).join(', ')
  return [
    ['image', image],
    ...(said ? [['by', said] as [string, string]] : []),
    ...(words.length ? [['runs', shownCommand(words)] as [string, string]] : []),
    ...(program ? [['program', program] as [string, string]] : []),
    ...(path.length ? [['first on PATH', path.join(':')] as [string, string]] : []),
    ...(stopSignal ? [['stop signal', stopSignal] as [string, string]] : []),
    ...missing.map((file): [string, string] => ['not there', file]),
    ...(problem ? [['problem', `${problem.reason}: ${problem.message}`] as [string, string]] : []),
  ]
}
