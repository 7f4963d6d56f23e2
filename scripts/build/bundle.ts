import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin, transformSync } from 'esbuild'

const command = 'cli/main.ts'
const library = 'library/index.ts'
/** What is started or imported by name. */
const programs = [
  command,
  'cli/envtest/etcd.ts',
  'cli/envtest/kube-apiserver.ts',
  'apiserver/main.ts',
  'apiserver/storage/sqlite/worker.ts',
  'kubelet/images/registry/pull-worker.ts',
  'kubelet/main.ts',
  library,
]

/** Commands of scripts and prompts: they run no server, and have a file of the program without one. */
const lightCommands = ['status', 'env', 'down', 'logs']
/**
 * Commands that run a server are part of the library, which has the same server: a server does not hold the text of all
 * commands in memory.
 */
const serverCommands = ['up', 'apiserver', 'controllers']
const commandsFile = 'cli/commands.ts'
/** Nodes in a server's process are simulated ones. */
const serverParts = { [commandsFile]: serverCommands, 'kubelet/node-runtimes.ts': ['simulated'] }

/** Packages that are loaded as they are installed; all others become part of the programs. */
export const notBundled: readonly string[] = ['re2js', '@kubernetes/client-node']

/** What Fastify itself would load for routes with schemas: those of plugins have it from apiserver/http/plugins. */
const neverUsed = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']
/** What packages load at their start, and call late or never: by what they import, for the packages of a pattern. */
const standIns: Readonly<Record<string, { for: string; contents: string }>> = {
  ...Object.fromEntries(neverUsed.map((name) => [name, { for: 'fastify', contents: 'module.exports = {}' }])),
  // For a plugin that says which Fastify it is for.
  semver: {
    for: 'fastify',
    contents: ['satisfies', 'gt', 'coerce']
      .map((name) => late(`exports.${name}`, `semver/functions/${name}`))
      .join('\n'),
  },
  // Our servers are made by a serverFactory.
  'node:http2': {
    for: 'fastify',
    contents: ['createServer', 'createSecureServer']
      .map((name) => late(`exports.${name}`, 'node:http2', name))
      .join('\n'),
  },
  // No log of ours has a transport, nor writes later. For pino's callers V8 would count the lines of the whole program.
  ...Object.fromEntries(
    ['./lib/caller', './lib/transport', './transport'].map((name) => [
      name,
      { for: 'pino', contents: 'module.exports = () => []' },
    ]),
  ),
  worker_threads: { for: 'pino', contents: 'module.exports = {}' },
  ...Object.fromEntries(
    ['assert', 'node:assert'].map((name) => [
      name,
      {
        for: 'fastify|find-my-way|light-my-request|sonic-boom',
        contents: `module.exports = (holds, message) => holds || require('assert')(holds, message)`,
      },
    ]),
  ),
}

function late(name: string, module: string, member?: string): string {
  return `${name} = (...args) => require('${module}')${member ? `.${member}` : ''}(...args)`
}

interface SharedPackage {
  /** Names what our sources import; absent: all. */
  exports?: readonly string[]
  contents: string
}

/**
 * Packages that are large and that several programs have: one file for all, which a process that needs none of it does
 * not hold in memory. undici's own entry would load fetch and WebSocket as well.
 */
const sharedPackages: Readonly<Record<string, SharedPackage>> = {
  fastify: {
    exports: ['default', 'LogController'],
    contents: `import fastify from 'fastify'\nexport default fastify\nexport const { LogController } = fastify`,
  },
  undici: {
    exports: ['Agent', 'EnvHttpProxyAgent', 'Pool', 'request'],
    contents: `
    import send from 'undici/lib/api/api-request.js'
    export { default as Agent } from 'undici/lib/dispatcher/agent.js'
    export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js'
    export { default as Pool } from 'undici/lib/dispatcher/pool.js'
    export const request = ({ origin, pathname, search }, { dispatcher, ...options }) =>
      send.call(dispatcher, { ...options, origin, path: pathname + search })`,
  },
  ajv: { exports: ['Ajv'], contents: `export { Ajv } from 'ajv'` },
  ...Object.fromEntries(
    ['dns-packet', 'js-yaml', 'light-my-request', 'ws'].map((name) => [
      name,
      { contents: `module.exports = require('${name}')` },
    ]),
  ),
  ...Object.fromEntries(
    neverUsed.map((name) => [name, { exports: ['default'], contents: `export { default } from '${name}'` }]),
  ),
}

const fileOf = (name: string): string => `packages/${name.replace('@', '').replace('/', '-')}.cjs`

/**
 * Makes programs of the sources and the packages they are made of, except for those of `external`, in `folder`. Each
 * is one file, which bin/program.mjs runs with what V8 has compiled of it, and a module where its source would be.
 */
export async function bundle(folder: string, external: readonly string[]): Promise<Metafile['outputs']> {
  const common: BuildOptions & { metafile: true } = {
    bundle: true,
    format: 'cjs',
    platform: 'node',
    // An older Node than those it works with can still read it, and say so.
    target: 'node20',
    external: [...external],
    metafile: true,
    logLevel: 'warning',
  }
  const ofPrograms = programs.map((program) => {
    const top = relative(dirname(program), '.')
    const outfile = join(folder, program.replace(/\.ts$/, '.cjs'))
    const contents = [program, command].map((source) => `export * from './${source}'`).join('\n')
    return build({
      ...common,
      ...(program === library ? { stdin: { contents, resolveDir: '.' } } : { entryPoints: [program] }),
      outfile,
      plugins: [...(program === library ? [onlyLate(serverParts)] : []), leftOut, sources(top), elsewhere(top)],
    })
  })
  const ofCommands = build({
    ...common,
    entryPoints: [command],
    outfile: join(folder, 'cli/light.cjs'),
    plugins: [onlyLate({ [commandsFile]: lightCommands }), leftOut, sources('..'), elsewhere('..')],
  })
  const ofPackages = Object.entries(sharedPackages).map(([name, { contents }]) =>
    build({
      ...common,
      stdin: { contents, resolveDir: '.', sourcefile: name },
      outfile: join(folder, fileOf(name)),
      plugins: [leftOut],
    }),
  )
  const results = await Promise.all([...ofPrograms, ofCommands, ...ofPackages])
  const outputs: Metafile['outputs'] = Object.assign({}, ...results.map(({ metafile }) => metafile.outputs))
  const hash = createHash('sha256')
  const names = new Map<string, string[]>()
  for (const file of Object.keys(outputs)) {
    const bundled = readFileSync(file, 'utf8')
    const text = asFunction(shortened(withSharedShapes(withLightImports(withImports(bundled)))))
    writeFileSync(file, text)
    hash.update(text)
    names.set(relative(folder, file), exportedBy(bundled))
  }
  const version = hash.digest('hex').slice(0, 12)
  const namesOf = (program: string): string[] => names.get(program.replace(/\.ts$/, '.cjs')) ?? []
  for (const program of programs) {
    const file = join(folder, program.replace(/\.ts$/, '.js'))
    const hidden = program === library ? namesOf(command) : []
    const exported = namesOf(program).filter((name) => !hidden.includes(name))
    writeFileSync(file, moduleOf(program, version, exported.join(', ')))
  }
  return outputs
}

/** A bundle as bin/program.mjs calls it. */
const asFunction = (text: string): string =>
  `(function(exports,require,module,__filename,__dirname,importModule,keepProgram){${inAscii(text)}})`

/**
 * Two fifths of a bundle are indentation, comments and names of what is local to a function. What stack traces show
 * keeps its name: functions and classes of modules, and methods. Short lines keep their places near.
 */
const shortened = (text: string): string =>
  transformSync(text, { minifyWhitespace: true, minifyIdentifiers: true, lineLimit: 120, legalComments: 'none' }).code

/** esbuild wraps each module in an object with its path as a key, and V8 would make a map for each of them. */
const withSharedShapes = (text: string): string =>
  text.replace(/(__esm|__commonJS)\(\{\n {2}"[^"]*"\(/g, '$1({\n  load(')

/** What is not part of the program is imported by bin/program.mjs: a script that imports prints a warning. */
const withImports = (text: string): string => text.replace(/\bimport\(/g, 'importModule(')

/** esbuild notes the names in code that does not run. */
const exportedBy = (text: string): string[] =>
  /^0 && \(module\.exports = \{([^}]*)\}\);$/m.exec(text)?.[1]?.trim().split(/,\s*/) ?? []

/** `version` changes with the text of any file, so that no program runs what was compiled of another text. */
function moduleOf(program: string, version: string, names: string): string {
  const load = `${relative(dirname(program), '.')}/../bin/program.mjs`
  const isOne = (commands: readonly string[]): string => `${JSON.stringify(commands)}.includes(process.argv[2])`
  const others = `${isOne(lightCommands)} ? 'light.cjs' : ${isOne(serverCommands)} ? '../library/index.cjs' : `
  const file = `${program === command ? others : ''}'${basename(program, '.ts')}.cjs'`
  const place = `new URL(${file}, import.meta.url)`
  const exported = names ? `export const { ${names} } = ` : ''
  const part = program === command ? ', process.argv[2]' : '' // each command runs other code, which is kept apart
  return `import { load } from '${load}'\n${exported}load(${place}, '${version}'${part})\n`
}

/**
 * esbuild copies what a module of Node exports for each file that imports it, thousands of properties in all. An object
 * that inherits them is made once.
 */
function withLightImports(text: string): string {
  const whole = /^var __toESM = [\s\S]*?\n\)\);$/m
  return text.replace(
    whole,
    `var __imported = new Map();
var __toESM = (mod, isNodeMode) => {
  if (!isNodeMode && mod && mod.__esModule) return mod;
  if (!__imported.has(mod)) __imported.set(mod, Object.create(mod, { default: { value: mod, enumerable: true } }));
  return __imported.get(mod);
};`,
  )
}

/**
 * With a single other letter, V8 would keep all of a file in two bytes a letter. What esbuild has left of them stands
 * in patterns and comments.
 */
const inAscii = (text: string): string =>
  text.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A source finds the files beside it from wherever its code went to. `top`: the way from there to the folder of all. */
function sources(top: string): Plugin {
  return {
    name: 'sources',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const place = `${top}/${relative('.', path).replace(/\.ts$/, '.js')}`
        return { contents: withPlaces(readFileSync(path, 'utf8'), place), loader: 'ts' }
      })
    },
  }
}

const withPlaces = (source: string, place: string): string =>
  source
    .replaceAll('import.meta.dirname', `(__dirname + '/${dirname(place)}')`)
    .replaceAll('import.meta.filename', `(__dirname + '/${place}')`)
    .replaceAll('import.meta.url', `require('node:url').pathToFileURL(__dirname + '/${place}').href`)

/** Shared packages are loaded from their own files. */
function elsewhere(top: string): Plugin {
  const filter = new RegExp(`^(${Object.keys(sharedPackages).join('|')})$`)
  return {
    name: 'elsewhere',
    setup({ onResolve, onLoad }) {
      onResolve({ filter }, ({ path, importer }) =>
        /[\\/]node_modules[\\/]/.test(importer) ? undefined : { path, namespace: 'elsewhere' },
      )
      onResolve({ filter: /\.cjs$/, namespace: 'elsewhere' }, ({ path }) => ({ path, external: true }))
      onLoad({ filter: /.*/, namespace: 'elsewhere' }, ({ path }) => ({
        contents: stubOf(`require('${top}/${fileOf(path)}')`, sharedPackages[path]?.exports),
      }))
    },
  }
}

function stubOf(loaded: string, names: readonly string[] | undefined): string {
  if (!names) return `module.exports = ${loaded}`
  const exported = names.map((name) => (name === 'default' ? `export default` : `export const ${name} =`))
  return [`const loaded = ${loaded}`, ...exported.map((start, i) => `${start} loaded.${names[i]}`)].join('\n')
}

/** Of what these sources import late, leaves out all but the files of these names. */
const onlyLate = (parts: Readonly<Record<string, readonly string[]>>): Plugin => ({
  name: 'only late',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\// }, ({ path, importer, kind }) => {
      const names = kind === 'dynamic-import' ? parts[relative('.', importer)] : undefined
      return names && !names.includes(basename(path, '.ts')) ? { path, namespace: 'left-out' } : undefined
    })
  },
})

const leftOut: Plugin = {
  name: 'left out',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(${Object.keys(standIns).join('|')})$`)
    const isFor = (path: string, importer: string): boolean =>
      new RegExp(`[\\\\/]node_modules[\\\\/](${standIns[path]?.for})[\\\\/]`).test(importer)
    onResolve({ filter }, ({ path, importer }) => (isFor(path, importer) ? { path, namespace: 'left-out' } : undefined))
    onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      contents: standIns[path]?.contents ?? 'module.exports = {}',
      resolveDir: '.',
    }))
  },
}
