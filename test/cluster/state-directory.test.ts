import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStateDirectory } from '../../cluster/state-directory.ts'

const another = 12_345

t.test('a folder of its own, new or there already', async (t) => {
  const folder = join(t.testdir({ old: { pki: { 'ca.key': '' }, kubeconfig: '' } }), 'old')
  openStateDirectory(folder).release()
  openStateDirectory(join(folder, 'new')).release()
  t.pass('taken')
})

t.test('what another user has planted is refused: that user would hold the keys', async (t) => {
  if (process.getuid?.() !== 0) return t.pass('only root can make a file that belongs to another user')
  for (const planted of ['', 'pki', 'pki/ca.key', 'kubeconfig']) {
    const folder = join(t.testdir({ state: { pki: { 'ca.key': '' }, kubeconfig: '' } }), 'state')
    chownSync(join(folder, planted), another, another)
    t.throws(() => openStateDirectory(folder), {
      message: new RegExp(
        `${planted} belongs to user ${another}, and this process to user 0 \\(root\\); choose another folder`,
      ),
    })
  }
})

t.test('so is what every user can write to', async (t) => {
  const folder = join(t.testdir(), 'state')
  mkdirSync(join(folder, 'pki'), { recursive: true })
  writeFileSync(join(folder, 'pki', 'ca.key'), '')
  chmodSync(join(folder, 'pki'), 0o777)
  t.throws(() => openStateDirectory(folder), { message: /every user can write to .*pki; chmod o-w it, or choose/ })
})
