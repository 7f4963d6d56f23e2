import t from 'tap'
import { checkLife } from './lives.ts'
import { kubeletStorm } from './storm.ts'

const good = ['start', 'hook Update', 'term', 'end']
const life = (lines: readonly string[], isEarly = false) => ({ name: 'p', reason: 'Update', lines, isEarly })

t.test('a life as it has to be', async (t) => {
  t.same(checkLife(life(good)), [])
  t.same(checkLife(life([])), [], 'a container that never started')
  t.same(checkLife(life(['hook Update', 'start'], true)), [], 'a program that has not begun hears no SIGTERM')
  const twice = ['start', 'hook Update', 'hook Update', 'term', 'end']
  t.same(checkLife(life(twice), { mayRepeatHook: true }), [], 'a kubelet was killed in between')
})

const wrong: Record<string, [readonly string[], RegExp]> = {
  'a second start': [['start', ...good], /started 2 times/],
  'no hook': [['start', 'term', 'end'], /hook did not run/],
  'a hook twice': [['start', 'hook Update', ...good.slice(1)], /hook ran 2 times/],
  'a hook without its reason': [['start', 'hook ', 'term', 'end'], /was told "hook " instead of "Update"/],
  'a second SIGTERM': [['start', 'hook Update', 'term', 'term', 'end'], /SIGTERM 2 times/],
  'no SIGTERM': [['start', 'hook Update', 'end'], /SIGTERM 0 times/],
  'SIGTERM before the hook': [['start', 'term', 'hook Update', 'end'], /SIGTERM before its hook/],
  'too short a grace period': [['start', 'hook Update', 'term'], /killed within its grace period/],
}
for (const [name, [lines, finding]] of Object.entries(wrong))
  t.test(`${name} is found`, async (t) => t.match(checkLife(life(lines)).join(), finding))

t.test(
  'servers and kubelets are killed: pods start once, end with their hook, their reason and their time',
  async (t) => {
    const said: string[] = []
    const report = await kubeletStorm(t, {
      storage: 'sqlite',
      kubelets: 2,
      seed: 15,
      faults: ['kill a kubelet', 'kill a server', 'halt a kubelet', 'kill all kubelets'],
      say: (line) => said.push(line),
    })
    t.same(report.violations, [], said.join('\n'))
    t.equal(report.kills, 3)
    t.ok(report.hooks > 30, `${report.hooks} hooks`)
  },
)
