/** The page runs in a browser: its bundle uses nothing that only Node has. */
import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import t from 'tap'
import { repository } from '../harness/cluster.ts'

const ofNode = ['Buffer', 'process', 'global', 'setImmediate', 'clearImmediate', 'require', '__dirname', '__filename']

/** Names of Node that a bundle reads without declaring them: esbuild replaces such names alone. */
async function namesOfNode(script: BuildOptions): Promise<string[]> {
  const define = Object.fromEntries(ofNode.map((name) => [name, `ofNode_${name}`]))
  const { outputFiles } = await build({
    ...script,
    define,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  const text = outputFiles?.[0]?.text ?? ''
  return ofNode.filter((name) => text.includes(`ofNode_${name}`))
}

t.test('the bundle reads no global of Node', async (t) => {
  t.same(await namesOfNode({ entryPoints: [join(repository, 'ui', 'page', 'main.ts')] }), [])
})

t.test('the check finds one', async (t) => {
  const contents = 'const process = 1\nexport const length = (text) => Buffer.byteLength(text) + process'
  t.same(await namesOfNode({ stdin: { contents } }), ['Buffer'], 'and leaves out a name that the script declares')
})
