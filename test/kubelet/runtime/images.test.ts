import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { entrypointOf } from '../../../kubelet/runtime/images/entrypoint.ts'
import { meaningOf } from '../../../kubelet/runtime/images/image-meaning.ts'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { createKeptImages } from '../../../kubelet/runtime/images/kept-images.ts'
import { namedFiles } from '../../../kubelet/runtime/images/named-files.ts'

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
  const nginx = { entrypoint: ['/usr/sbin/nginx'], cmd: ['-g', 'daemon off;'] }
  t.match(images.resolve('nginx'), nginx, 'no tag is latest')
  t.match(images.resolve('docker.io/library/nginx:1.27'), nginx)
  t.same(images.resolve('tools:1').path, [folder])
  t.same(images.resolve('/bin/true').entrypoint, ['/bin/true'])
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

t.test('images that come and go while containers run', async (t) => {
  const file = path.join(t.testdir(), 'images.json')
  const map = { commands: { 'app:*': ['/bin/old'], 'web:*': ['/bin/web'] }, paths: {} }
  const images = createKeptImages(map, file)
  let changes = 0
  images.onChange(() => changes++)
  images.add({ pattern: 'app:2', command: ['/bin/new'] })
  t.same(images.resolve('app:2').entrypoint, ['/bin/new'], 'what was said last counts first')
  t.same(images.resolve('app:1').entrypoint, ['/bin/old'])
  images.add({ pattern: 'app:2', stopSignal: 'SIGINT' })
  t.match(images.resolve('app:2'), { entrypoint: ['/bin/new'], stopSignal: 'SIGINT' }, 'the rest of the entry stays')
  t.ok(images.remove('web:*'))
  t.throws(() => images.resolve('web:1'), /stands for no program/)
  t.notOk(images.remove('web:*'))
  t.notOk(images.remove('busybox'), 'what is built in stays')
  t.equal(changes, 3)
  images.add({ pattern: 'tools*', command: ['/bin/first'] })

  const after = createKeptImages(map, file)
  t.same(after.entries(), images.entries(), 'the next kubelet knows it, in the same order')
  const changed = createKeptImages({ ...map, commands: { ...map.commands, 'web:*': ['/bin/web2'] } }, file)
  t.same(changed.resolve('web:1').entrypoint, ['/bin/web2'], 'what the configuration says anew counts')
  t.same(changed.resolve('app:2').entrypoint, ['/bin/new'], 'the other changes stay')
  const alsoAdded = createKeptImages({ commands: { 'app:2': ['/bin/newer'] }, paths: {} }, file)
  t.same(alsoAdded.resolve('app:2').entrypoint, ['/bin/newer'])
  writeFileSync(file, '{')
  t.same(createKeptImages(map, file).resolve('web:1').entrypoint, ['/bin/web'], 'a damaged file changes nothing')
})

t.test('a store of images that goes with its folder makes no file there', async (t) => {
  const file = path.join(t.testdir(), 'gone', 'images.json')
  const listeners: (() => void)[] = []
  const loaded = { find: () => undefined, onChange: (listener: () => void) => void listeners.push(listener) }
  const images = createKeptImages({ commands: {}, paths: {} }, file, loaded)
  t.equal(listeners.length, 1)
  for (const tell of listeners) tell()
  t.notOk(existsSync(path.dirname(file)))
  images.add({ pattern: 'app:2', command: ['/bin/new'] })
  t.ok(existsSync(file))
})

t.test('what a container would run', async (t) => {
  const folder = t.testdir({ tool: '#!/bin/sh\n', data: 'no program' })
  chmodSync(path.join(folder, 'tool'), 0o755)
  const images = createImages({
    commands: {
      tool: ['tool', '-x'],
      script: ['sh', `${folder}/data`, '-x'],
      gone: ['/nowhere'],
      data: [`${folder}/data`],
    },
    paths: { tool: folder },
  })
  t.match(meaningOf(images, 'tool'), {
    entries: [{ pattern: 'tool', origin: 'configuration' }],
    command: ['tool', '-x'],
    program: path.join(folder, 'tool'),
  })
  t.match(meaningOf(images, 'whatever:1', { command: ['sh', '-c', 'a'] }), {
    command: ['sh', '-c', 'a'],
    program: /\/sh$/,
  })
  t.match(meaningOf(images, 'gone'), { problem: { reason: 'RunContainerError', message: /no such file/ } })
  t.match(meaningOf(images, 'data'), { problem: { message: /permission denied/ } })
  t.match(meaningOf(images, 'other'), { problem: { reason: 'ErrImagePull' } })
  t.match(meaningOf(images, 'tool', { args: ['data'] }), {
    command: ['tool', 'data'],
    program: path.join(folder, 'tool'),
  })
  t.same(meaningOf(images, '/bin/echo', { args: ['a'] }).command, ['/bin/echo', 'a'])
  t.same(meaningOf(images, 'script', { args: ['a'] }).command, ['sh', `${folder}/data`, 'a'])
  t.match(meaningOf(images, 'busybox', { args: ['data'] }), {
    command: ['data'],
    problem: { reason: 'RunContainerError' },
  })
  const script = { command: ['sh', './tool'], workingDir: folder }
  t.equal(meaningOf(images, 'tool', script).missing, undefined)
  t.same(meaningOf(images, 'tool', { ...script, args: ['/none.yaml'] }).missing, ['/none.yaml'])
  t.match(meaningOf(images, 'Bad_Name!'), { problem: { reason: 'InvalidImageName' } })
})

t.test('what a container’s own arguments leave of an image', (t) => {
  const cases: [entrypoint: string[], cmd?: string[]][] = [
    [['/usr/sbin/nginx'], ['-g', 'daemon off;']],
    [['/bin/echo'], ['hello', 'world']],
    [
      ['node', '/srv/server.js'],
      ['--port', '80'],
    ],
    [['/usr/bin/node', '--enable-source-maps', 'server.js']],
    [['python3.12', '-m', 'http.server'], ['8000']],
    [['java', '-Xmx64m', '-jar', 'app.jar'], ['serve']],
    [['sh', '-c', 'exec "$@"'], ['x']],
    [['bash'], ['-i']],
  ]
  for (const [entrypoint, cmd = []] of cases)
    t.same(entrypointOf([...entrypoint, ...cmd]), { entrypoint, cmd }, [...entrypoint, '|', ...cmd].join(' '))
  t.end()
})

t.test('files that a command names', (t) => {
  const cases: [command: string[], files: string[], workingDir?: string][] = [
    [['python3', '/app/x.py', '--out', '/tmp/out.txt'], ['/app/x.py']],
    [['/usr/bin/node', 'server.js'], ['/srv/server.js'], '/srv'],
    [['python3', '-m', 'http.server', '--directory', '/www'], []],
    [['sh', '-c', 'cat /none.yaml'], []],
    [['sh', '/scripts/run'], ['/scripts/run']],
    [['java', '-Xmx64m', '-jar', '/app/app.jar'], ['/app/app.jar']],
    [['prometheus', '--config.file=/etc/prometheus.yml', '--storage=/data'], ['/etc/prometheus.yml']],
    [['web', '--config', '/etc/$(NAME).yaml', '/etc/*.conf', '--url=http://a/b.json'], []],
    [['deno', 'run', '/app/main.ts', '/app/main.ts'], ['/app/main.ts']],
    [[], []],
  ]
  for (const [command, files, workingDir = '/'] of cases)
    t.same(namedFiles(command, workingDir), files, command.join(' '))
  t.end()
})
