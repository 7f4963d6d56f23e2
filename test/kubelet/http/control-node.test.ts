import t from 'tap'
import { type ControlledNode, controlNode, putUnderPressure } from '../../../kubelet/http/control-node.ts'
import { Problem } from '../../../kubelet/http/problem.ts'

t.test('what may be done to a node, and what is refused', async (t) => {
  const done: unknown[] = []
  const say =
    (word: string) =>
    (...words: unknown[]) =>
      void done.push([word, ...words])
  const node = {
    controls: { shutDown: say('shutDown'), lose: say('lose'), comeBack: say('comeBack') },
    eviction: { induce: say('induce'), release: say('release') },
    isLost: () => false,
    reboot: say('reboot'),
  } as unknown as ControlledNode
  const ask = async (method: string, path: string, known: ControlledNode | undefined = node) => {
    const { pathname, searchParams: query } = new URL(path, 'https://kubelet')
    const [, what, word = ''] = pathname.split('/')
    try {
      if (what === 'node') await controlNode({ method, word }, known)
      else putUnderPressure({ method, word, query }, known)
    } catch (error) {
      if (error instanceof Problem) return error.code
      throw error
    }
    return done.pop()
  }
  t.same(await ask('POST', '/node/shutdown'), ['shutDown'])
  t.same(await ask('POST', '/node/lose'), ['lose'])
  t.same(await ask('POST', '/node/return'), ['comeBack'])
  t.same(await ask('POST', '/node/reboot'), ['reboot'])
  t.same(await ask('PUT', '/pressure/memory'), ['induce', 'memory.available', undefined])
  t.same(await ask('PUT', '/pressure/disk?available=3%25'), ['induce', 'nodefs.available', { fraction: 0.03 }])
  t.same(await ask('PUT', '/pressure/imagefs.inodesFree?available=5k'), [
    'induce',
    'imagefs.inodesFree',
    { text: '5k' },
  ])
  t.same(await ask('DELETE', '/pressure/pids'), ['release', 'pid.available'])
  for (const path of ['/node/', '/node/toString', '/pressure/patience']) {
    t.equal(await ask('POST', path), 404, path)
  }
  t.equal(await ask('GET', '/node/lose'), 405)
  t.equal(await ask('POST', '/pressure/memory'), 405)
  t.equal(await ask('PUT', '/pressure/memory?available=much'), 400)
  const early = await controlNode({ method: 'POST', word: 'lose' }, undefined).catch(({ code }) => code)
  t.equal(early, 503)
})
