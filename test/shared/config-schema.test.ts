/** The schema of kubestage.yaml, which ajv checks when a command reads the file. */
import { join } from 'node:path'
import t from 'tap'
import { fileKeys } from '../../cli/file-keys.ts'
import type { Option, Options } from '../../shared/config/option.ts'
import { configOption, resolveOptions } from '../../shared/config/resolve.ts'
import { schemaMistakes } from '../../shared/config/schema-mistakes.ts'

/** What each type of options may take: in all, each has one. */
const samples: unknown[] = [
  ...[
    true,
    0,
    1,
    2.5,
    5,
    6443,
    2 ** 20,
    2 ** 26,
    '',
    'a',
    'v1.36.3',
    '10.0.0.0/8',
    '30s',
    '10Mi',
    '50%',
    '0',
    'a:b',
    'https://a:1',
    '*',
  ],
  ...['memory', 'sqlite:a', 'etcd', 'etcd:https://a:1', 'unlimited', '2026-01-01T00:00:00Z'],
  ...['process', 'cri:unix:///run/containerd.sock'],
  ...[[], ['a'], ['*'], ['job'], [0], [1, 2], ['kernel.msg*'], {}, { a: 'b' }, { a: ['b', 'c'] }],
  ...[{ PodTerminationReason: true }, { 'memory.available': '1Gi' }, { 'memory.available': '30s' }],
]
const accepts = ({ type }: Option<unknown>, value: unknown): boolean => {
  try {
    type.fromFile(value)
    return true
  } catch {
    return false
  }
}

t.test('no schema is stricter than the type of its option', async (t) => {
  for (const [key, option] of Object.entries<Option<unknown>>(fileKeys)) {
    const choices = (option.type.schema as { enum?: unknown[] } | undefined)?.enum ?? []
    const taken = [...samples, ...choices].filter((value) => accepts(option, value))
    t.ok(taken.length > 0, `${key} takes a sample`)
    for (const value of taken)
      t.same(schemaMistakes({ [key]: value }, fileKeys), [], `${key}: ${JSON.stringify(value)}`)
  }
})

t.test('all mistakes of a file at once, in the order of their lines', async (t) => {
  const files: [content: string, lines: string[]][] = [
    ['maxPods: many\n', ['1: maxPods must be a whole number from 1 to 100000, not "many"']],
    [
      'stateDir: 5\nimage:\n  # one\n  "a:*": [x]\n  "b/c~*": {}\n\n  d: [1]\nmaxPods: 0\nprot: 1\nnonsense: 1\n',
      [
        '1: stateDir must be the path of a folder, not 5',
        '5: image "b/c~*" must be a command (text, or a list of texts), not {}',
        '7: image "d" must be a command (text, or a list of texts), not [1]',
        '8: maxPods must be a whole number from 1 to 100000, not 0',
        '9: unknown key "prot"; did you mean "port"?',
        '10: unknown key "nonsense" (kubestage config --schema lists all)',
      ],
    ],
    [
      'ways:\n  - delete\n  - name: 5\nallowedExitCodes: [0,\n  soon]\n"featureGates": {"PodTerminationReason": true,\n  "PodTerminationReasons": true}\n',
      [
        '3: ways must be a list of names, not [{"name":5}]',
        '5: allowedExitCodes must be a list of exit codes from 0 to 255, not ["soon"]',
        '7: featureGates has an unrecognized feature gate: PodTerminationReasons; did you mean PodTerminationReason?',
      ],
    ],
    [
      '{"maxPods": "x",\n "nodes": 101,\n "isolation": &a "best", "http2": *a,\n "timeScale": null}\n',
      [
        '1: maxPods must be a whole number from 1 to 100000, not "x"',
        '2: nodes must be a whole number from 0 to 100, not 101',
        '3: isolation must be one of auto, none, pod, not "best"',
        '3: http2 must be one of own, node, not "best"',
        '4: timeScale must be a number from 1 to 1000, not null',
      ],
    ],
  ]
  for (const [content, lines] of files) {
    const file = join(t.testdir({ 'c.yaml': content }), 'c.yaml')
    const options: Options = { config: configOption, stateDir: fileKeys.stateDir }
    const schemaCheck = async () => ({ schemaMistakes })
    const sources = { args: ['--config', file], env: {}, fileKeys: async () => fileKeys, schemaCheck }
    const message = lines.map((line) => `${file}:${line}`).join('\n')
    await t.rejects(resolveOptions(options, sources), { name: 'UsageError', exitCode: 2, message })
  }
})
