import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Assets {
  script: string
  style: string
}

const folder = join(import.meta.dirname, '..', '..', 'ui', 'page')

let assets: Promise<Assets> | undefined

/**
 * Returns the texts of the page's two files. A checkout bundles them on first use; a package contains them bundled.
 * Rejects if they cannot be loaded; the next call tries again.
 */
export function uiAssets(): Promise<Assets> {
  assets ??= load().catch((error: unknown) => {
    assets = undefined
    throw error
  })
  return assets
}

function load(): Promise<Assets> {
  const source = join(folder, 'main.ts')
  return existsSync(source) ? bundled(source) : shipped()
}

async function shipped(): Promise<Assets> {
  const [script, style] = await Promise.all(['main.js', 'main.css'].map((name) => readFile(join(folder, name), 'utf8')))
  return { script: script!, style: style! }
}

async function bundled(source: string): Promise<Assets> {
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
  const textOf = (end: string): string => outputFiles.find(({ path }) => path.endsWith(end))!.text
  return { script: textOf('.js'), style: textOf('.css') }
}
