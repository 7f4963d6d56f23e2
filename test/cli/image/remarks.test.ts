import t from 'tap'
import type { CheckedContainer } from '../../../cli/image/check.ts'
import { remarkLines } from '../../../cli/image/remarks.ts'
import { meaningOf } from '../../../kubelet/runtime/images/image-meaning.ts'
import { createImages } from '../../../kubelet/runtime/images/images.ts'

const images = createImages({ commands: {}, paths: {} })
const checked = (image: string, more: Partial<CheckedContainer> = {}): CheckedContainer => ({
  ...meaningOf(images, image),
  object: 'Pod/web',
  container: 'c',
  entries: [],
  ...more,
})

t.test('a remark on one image is the sentence that its pod would show', (t) => {
  const one = checked('example.com/web:1')
  t.same(remarkLines([one, one]), [`kubestage: ${one.problem?.message}`])
  t.match(one.problem?.message, `image "example.com/web:1" stands for no program of this machine`)
  t.same(remarkLines([checked('busybox', { missing: ['/srv/a'] })]), [
    'kubestage: /srv/a is not on this machine, nor is a volume mounted there',
  ])
  t.same(remarkLines([checked('busybox')]), [])
  t.end()
})

t.test('remarks that differ in an image or a file alone are one sentence and a table', (t) => {
  const lines = remarkLines([
    checked('web'),
    checked('example.com/team/db:2', { missing: ['/srv/a'] }),
    checked('web'),
    checked('busybox', { missing: ['/srv/b', '/srv/a'] }),
  ])
  t.same(lines, [
    "kubestage: image IMAGE stands for no program of this machine: say which with kubestage image add 'PATTERN' -- /path/to/program, or with --image 'PATTERN=/path/to/program' at the start; or give the container a command",
    '  IMAGE                   PATTERN',
    '  web                     web:*',
    '  example.com/team/db:2   example.com/team/db:*',
    'kubestage: FILE is not on this machine, nor is a volume mounted there',
    '  FILE',
    '  /srv/a',
    '  /srv/b',
  ])
  t.end()
})
