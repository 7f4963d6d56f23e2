/** What scripts/declarations.ts reads from sources, and the defaults that the library's reference tells. */
import { join } from 'node:path'
import t from 'tap'
import { clusterOptions } from '../../cluster/settings.ts'
import { declarationsIn } from '../../scripts/declarations.ts'
import { repository } from '../harness/cluster.ts'

const source = `/** Reads pods. */
export class Reader extends Base {
  readonly #hidden = new Map<string, string>()
  /** @internal Is for the server. */
  own = 1
  /**
   * Names the reader,
   * as {@link Base} does.
   *
   * @default 'web'
   */
  readonly name?: string
  /** Reads. */
  async read<T extends object = Pod>(
    /** What to read. */
    target: Target,
    { timeout = '1s' }: { timeout?: string } = {},
  ): Promise<T> {
    return this.#hidden
  }
  get size(): number {
    return 1
  }
}
export interface Options extends Base, Other<string> {
  then?: {
    /** Is a code. */
    code: number
    text?: string
  }
}
export type Count = 'one' | \`\${number}\`
/** Returns whether it is. */
export const is = (error: unknown, reason?: string): error is Error => error === reason
`

t.test('signatures, comments and defaults; what is private or internal is left out', async (t) => {
  const folder = t.testdir({ 'a.ts': source })
  const file = join(folder, 'a.ts')
  t.same(declarationsIn([file]).get(file), [
    {
      name: 'Reader',
      signature: '',
      comment: 'Reads pods.',
      bases: ['Base'],
      members: [
        { name: 'name', signature: 'name?: string', comment: 'Names the reader, as `Base` does.', default: "'web'" },
        {
          name: 'read',
          signature: 'read<T extends object = Pod>(target: Target, options?: { timeout?: string }): Promise<T>',
          comment: 'Reads.',
          default: '',
        },
        { name: 'size', signature: 'size: number', comment: '', default: '' },
      ],
    },
    {
      name: 'Options',
      signature: '',
      comment: '',
      bases: ['Base', 'Other<string>'],
      members: [{ name: 'then', signature: 'then?: { code: number; text?: string }', comment: '', default: '' }],
    },
    { name: 'Count', signature: "type Count = 'one' | `${number}`", comment: '', members: [], bases: [] },
    {
      name: 'is',
      signature: 'is(error: unknown, reason?: string): error is Error',
      comment: 'Returns whether it is.',
      members: [],
      bases: [],
    },
  ])
  t.throws(() => declarationsIn([join(folder, 'b.ts')]), /b\.ts cannot be parsed/)
})

t.test('each option of startCluster is described, and its default is true', async (t) => {
  const file = join(repository, 'library/options.ts')
  const options = declarationsIn([file]).get(file)?.[0]?.members ?? []
  t.ok(options.length > 20)
  for (const { name, comment } of options) t.not(comment, '', name)
  const given = new Map(options.map((option) => [option.name, option.default]))
  for (const name of [
    'host',
    'http2',
    'serviceCidr',
    'etcdPrefix',
    'leaderElectResourceName',
    'controllers',
  ] as const) {
    const value = clusterOptions[name].default
    t.equal(given.get(name)?.replaceAll("'", '"'), JSON.stringify(value), name)
  }
})
