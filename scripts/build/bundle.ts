import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'

/** What is started or imported by name. What several of them need becomes a chunk, as does whatever is imported late. */
const programs = [
  'cli/main.ts',
  'cli/envtest/etcd.ts',
  'cli/envtest/kube-apiserver.ts',
  'apiserver/main.ts',
  'apiserver/storage/sqlite/worker.ts',
  'kubelet/main.ts',
  'library/index.ts',
]

/** Parts of fastify for routes with schemas, and for tests without a socket. We have neither. */
const neverUsed = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

/**
 * Makes one JavaScript program of the sources and the packages they are made of, except for those of `external`,
 * in `folder`, with each entry where its source would be.
 */
export async function bundle(folder: string, external: readonly string[]): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: programs,
    outbase: '.',
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // An older Node than those it works with can still read it, and say so.
    target: 'node20',
    external: [...external],
    // Packages in CommonJS ask for Node's own modules by `require`, some of them late or never.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)`,
    },
    plugins: [places(folder), leftOut],
    metafile: true,
    logLevel: 'warning',
  })
  return metafile
}

/** A source finds the files beside it from wherever its code went to; all places are one folder below the bundle's own. */
function places(folder: string): Plugin {
  const moved = new Set<string>()
  return {
    name: 'places',
    setup({ onLoad, onEnd }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8')
        if (!source.includes('import.meta.')) return undefined
        const file = relative('.', path).replace(/\.ts$/, '.js')
        moved.add(relative('.', path))
        const contents = source
          .replaceAll('import.meta.dirname', `(import.meta.dirname + '/../${dirname(file)}')`)
          .replaceAll('import.meta.filename', `(import.meta.dirname + '/../${file}')`)
          .replaceAll('import.meta.url', `new URL('../${file}', import.meta.url).href`)
        return { contents, loader: 'ts' }
      })
      onEnd(({ metafile }) => {
        for (const [output, { inputs }] of Object.entries(metafile?.outputs ?? {})) {
          const lost = Object.keys(inputs).filter((input) => moved.has(input))
          if (lost.length > 0 && dirname(dirname(output)) !== relative('.', join(folder)))
            throw new Error(`${lost} would not find its files from ${output}`)
        }
      })
    },
  }
}

const leftOut: Plugin = {
  name: 'left out',
  setup({ onResolve, onLoad }) {
    const filter = new RegExp(`^(${neverUsed.join('|')})$`)
    onResolve({ filter }, ({ path }) => ({ path, namespace: 'never-used' }))
    onLoad({ filter: /.*/, namespace: 'never-used' }, ({ path }) => ({
      contents: `throw new Error('${path} is not in the bundle')`,
    }))
  },
}
