import { mkdirSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { createImages } from '../../../kubelet/runtime/images/images.ts'

t.test('images: the host’s programs by name, and a clear word for what is none', async (t) => {
  const folder = t.testdir()
  mkdirSync(path.join(folder, 'bin'))
  const images = createImages({
    commands: { 'nginx:*': ['/usr/sbin/nginx', '-g', 'daemon off;'] },
    paths: { 'tools*': folder },
    stopSignals: { 'nginx:*': 'SIGQUIT' },
  })
  t.equal(images.resolve('nginx:1.27').stopSignal, 'SIGQUIT')
  t.equal(images.resolve('busybox:1.37').stopSignal, undefined)
  t.same(images.resolve('nginx').cmd, ['/usr/sbin/nginx', '-g', 'daemon off;'], 'no tag is latest')
  t.same(images.resolve('docker.io/library/nginx:1.27').cmd, ['/usr/sbin/nginx', '-g', 'daemon off;'])
  t.same(images.resolve('tools:1').path, [folder])
  t.same(images.resolve('/bin/true').cmd, ['/bin/true'])
  t.same(images.resolve('busybox:1.37').cmd, ['sh'])
  t.same(
    images.resolve('example.com/app:1', { hasCommand: true }).cmd,
    [],
    'with a command of its own no mapping is needed',
  )
  t.throws(() => images.resolve('example.com/app:1'), {
    message: /--image 'example.com\/app:\*=\/path\/to\/program'/,
  })
  t.throws(() => images.resolve('Bad_Name!:1'), {
    message:
      'Failed to apply default image tag "Bad_Name!:1": couldn\'t parse image name "Bad_Name!:1": invalid reference format: repository name (library/Bad_Name!) must be lowercase',
  })
  t.throws(() => images.resolve('a b'), { message: /invalid reference format$/ })
})
