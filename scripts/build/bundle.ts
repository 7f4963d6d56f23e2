import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { compiledAtOnce } from './compiled-at-once.ts'

/** What is started or imported by name. */
const programs = [
  'cli/main.ts',
  'cli/envtest/etcd.ts',
  'cli/envtest/kube-apiserver.ts',
  'apiserver/main.ts',
  'apiserver/storage/sqlite/worker.ts',
  'kubelet/images/registry/pull-worker.ts',
  'kubelet/main.ts',
  'library/index.ts',
]

/**
 * What a program may well never load, or only later, and which is large: a file of its own. Whatever else is imported
 * late is in the same file as its importer, and runs late: each file takes half a millisecond, and what is not run
 * takes nothing.
 */
const large = [
  'cluster/cluster.ts',
  'cli/cluster/up.ts',
  'cli/cluster/wants-guardian.ts',
  'cli/programs/apiserver.ts',
  'cli/programs/controllers.ts',
  'cli/programs/kubelet.ts',
  'cli/programs/run-kubelet.ts',
  'cli/join/index.ts',
  'cli/rehearse/index.ts',
  'cli/demo/index.ts',
  'cli/storage/index.ts',
  'library/start-cluster.ts',
  'shared/config/schema-mistakes.ts', // and with it ajv
  'apiserver/http/node-http2/connection.ts',
  'cluster/supervisor/local-etcd.ts',
  'controllers/index.ts',
  'controllers/elected.ts',
  'kubelet/actions/grpc.ts', // and with it HTTP/2, 6 MB
  'kubelet/http/app.ts', // and with it Fastify, 7 MB
  'kubelet/http/streaming/serve-stream.ts',
  'apiserver/storage/sqlite/sqlite.ts',
  'apiserver/storage/etcd/open.ts',
  'apiserver/webhook-client/connections.ts', // and with it undici
  'apiserver/http/plugins/extension.ts', // and with it the compilers of schemas
]

/** Files of `large` that commands load without a server. */
const withoutServer = [
  'cluster/cluster.ts',
  'cli/cluster/wants-guardian.ts',
  'cli/programs/kubelet.ts',
  'cli/join/index.ts',
  'cli/rehearse/index.ts',
  'cli/storage/index.ts',
  'shared/config/schema-mistakes.ts',
  'cluster/supervisor/local-etcd.ts',
  'apiserver/storage/sqlite/sqlite.ts',
  'apiserver/storage/etcd/open.ts',
]

/** What a program has loaded before a file of `large`: itself, or the server. */
function loadedFirst(program: string, file: string): string {
  if (program === 'library/index.ts') return 'library/start-cluster.ts'
  return program !== 'cli/main.ts' || withoutServer.includes(file) ? program : 'cluster/cluster.ts'
}

/** Packages that are loaded as they are installed; all others become part of the programs. */
export const notBundled: readonly string[] = ['re2js', '@kubernetes/client-node']

/** What Fastify itself would load for routes with schemas: those of plugins have it from apiserver/http/plugins. */
const neverUsed = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']
/** What Fastify loads at its start, and calls late or never. */
const lateParts: Readonly<Record<string, string>> = {
  // For a plugin that says which Fastify it is for.
  semver: ['satisfies', 'gt', 'coerce'].map((name) => late(`exports.${name}`, `semver/functions/${name}`)).join('\n'),
  // Our servers are made by a serverFactory.
  'node:http2': ['createServer', 'createSecureServer']
    .map((name) => late(`exports.${name}`, 'node:http2', name))
    .join('\n'),
}

function late(name: string, module: string, member?: string): string {
  return `${name} = (...args) => require('${module}')${member ? `.${member}` : ''}(...args)`
}

/**
 * Packages that are large and that several programs have: one file for all. It exports what our sources import.
 * undici's own entry would load fetch and WebSocket as well.
 */
const sharedPackages: Readonly<Record<string, string>> = {
  fastify: `import fastify from 'fastify'\nexport default fastify\nexport const { LogController } = fastify`,
  undici: `
    import send from 'undici/lib/api/api-request.js'
    export { default as Agent } from 'undici/lib/dispatcher/agent.js'
    export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js'
    export { default as Pool } from 'undici/lib/dispatcher/pool.js'
    export const request = ({ origin, pathname, search }, { dispatcher, ...options }) =>
      send.call(dispatcher, { ...options, origin, path: pathname + search })`,
  '@fastify/ajv-compiler': `export { default } from '@fastify/ajv-compiler'`,
  '@fastify/fast-json-stringify-compiler': `export { default } from '@fastify/fast-json-stringify-compiler'`,
}

const fileOf = (name: string): string => `packages/${name.replace('@', '').replace('/', '-')}.js`

/**
 * Makes programs of the sources and the packages they are made of, except for those of `external`, in `folder`,
 * each where its source would be, with the files that only it uses beside it.
 */
export async function bundle(folder: string, external: readonly string[]): Promise<Metafile['outputs']> {
  const common: BuildOptions & { metafile: true } = {
    bundle: true,
    format: 'esm',
    platform: 'node',
    // An older Node than those it works with can still read it, and say so.
    target: 'node20',
    external: [...external],
    // Packages in CommonJS ask for Node's own modules by `require`, some of them late or never.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)",
    },
    metafile: true,
    logLevel: 'warning',
  }
  const ofPrograms = programs.map((program) => {
    const top = relative(dirname(program), '.')
    return build({
      ...common,
      entryPoints: [program],
      outdir: join(folder, dirname(program)),
      entryNames: '[name]',
      chunkNames: '[name]-[hash]',
      splitting: true,
      plugins: [sources(top, (file) => loadedFirst(program, file)), elsewhere(top), leftOut],
    })
  })
  const ofPackages = Object.entries(sharedPackages).map(([name, contents]) =>
    build({
      ...common,
      stdin: { contents, resolveDir: '.', sourcefile: name },
      outfile: join(folder, fileOf(name)),
      plugins: [leftOut],
    }),
  )
  const results = await Promise.all([...ofPrograms, ...ofPackages])
  const outputs: Metafile['outputs'] = Object.assign({}, ...results.map(({ metafile }) => metafile.outputs))
  for (const file of Object.keys(outputs)) writeFileSync(file, compiledAtOnce(inAscii(readFileSync(file, 'utf8'))))
  return outputs
}

/**
 * With a single other letter, V8 would keep all of a file in two bytes a letter. What esbuild has left of them stands
 * in patterns and comments.
 */
const inAscii = (text: string): string =>
  text.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * `top`: the way from the program's folder to the one of all. Each file of `large` imports what `firstOf` names, which
 * is loaded already, so that esbuild puts all that this needs into one file. Otherwise it makes a file for each set of
 * large files that share something: a start read a hundred.
 */
function sources(top: string, firstOf: (file: string) => string): Plugin {
  return {
    name: 'sources',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative('.', path)
        const first = large.includes(file) ? firstOf(file) : file
        const imports = first === file ? '' : `import '${resolve(first)}'\n`
        const source = imports + readFileSync(path, 'utf8')
        return {
          contents: withPlaces(withLateImports(source, file), `${top}/${file.replace(/\.ts$/, '.js')}`),
          loader: 'ts',
        }
      })
    },
  }
}

const withLateImports = (source: string, file: string): string =>
  source.replace(/(?<!\btypeof )\bimport\(('(\.[^']+)')\)/g, (imported, quoted, target) =>
    large.includes(join(dirname(file), target)) ? imported : `Promise.resolve().then(() => require(${quoted}))`,
  )

/** A source finds the files beside it from wherever its code went to. */
const withPlaces = (source: string, place: string): string =>
  source
    .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${dirname(place)}')`)
    .replaceAll('import.meta.filename', `(import.meta.dirname + '/${place}')`)
    .replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`)

/** Shared packages are imported from their own files. */
function elsewhere(top: string): Plugin {
  const filter = new RegExp(`^(${Object.keys(sharedPackages).join('|')})$`)
  return {
    name: 'elsewhere',
    setup({ onResolve }) {
      onResolve({ filter }, ({ path, importer }) =>
        /[\\/]node_modules[\\/]/.test(importer) ? undefined : { path: `${top}/${fileOf(path)}`, external: true },
      )
    },
  }
}

const leftOut: Plugin = {
  name: 'left out',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(${[...neverUsed, ...Object.keys(lateParts)].join('|')})$`)
    const ofFastify = /[\\/]node_modules[\\/]fastify[\\/]/
    onResolve({ filter }, ({ path, importer }) =>
      ofFastify.test(importer) ? { path, namespace: 'left-out' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      contents: lateParts[path] ?? 'module.exports = {}',
      resolveDir: '.',
    }))
  },
}
