import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Asset {
  type: string
  bytes: Buffer
}

const folder = join(import.meta.dirname, '..', '..', 'ui', 'page')
const types: Readonly<Record<string, string>> = {
  'main.js': 'text/javascript; charset=utf-8',
  'main.css': 'text/css; charset=utf-8',
}

let assets: Promise<ReadonlyMap<string, Asset>> | undefined

/**
 * Returns the page's files by name. A checkout bundles them on first use; a package contains them bundled. Rejects if
 * they cannot be loaded; the next call tries again.
 */
export function uiAssets(): Promise<ReadonlyMap<string, Asset>> {
  assets ??= load().catch((error: unknown) => {
    assets = undefined
    throw error
  })
  return assets
}

async function load(): Promise<ReadonlyMap<string, Asset>> {
  const source = join(folder, 'main.ts')
  const files = existsSync(source) ? await bundled(source) : await shipped()
  return new Map(files.map(([name, bytes]) => [name, { type: types[name] ?? 'application/octet-stream', bytes }]))
}

const shipped = (): Promise<[string, Buffer][]> =>
  Promise.all(
    Object.keys(types).map(async (name): Promise<[string, Buffer]> => [name, await readFile(join(folder, name))]),
  )

async function bundled(source: string): Promise<[string, Buffer][]> {
  // Not by a literal: a package is built without it.
  const bundler = 'esbuild'
  const { build } = (await import(bundler)) as typeof import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [source, join(folder, 'main.css')],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  })
  return outputFiles.map(({ path, contents }) => [path.slice(folder.length + 1), Buffer.from(contents)])
}
