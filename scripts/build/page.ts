import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'

/** The page's script and styles, as apiserver/ui/assets.ts finds them in a package. */
export async function bundlePage(folder: string): Promise<Metafile['outputs']> {
  const { metafile } = await build({
    entryPoints: ['ui/page/main.ts', 'ui/page/main.css'],
    outdir: join(folder, 'ui', 'page'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    metafile: true,
    logLevel: 'warning',
  })
  return metafile.outputs
}
