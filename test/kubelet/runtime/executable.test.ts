import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { locateProgram } from '../../../kubelet/runtime/executable.ts'

t.test('a folder of PATH in which nothing can be looked up does not hide the next one', (t) => {
  const [endless, folder] = [join(t.testdir({ a: {}, b: {} }), 'a'), join(t.testdirName, 'b')]
  symlinkSync('tool', join(endless, 'tool'))
  writeFileSync(join(folder, 'tool'), '#!/bin/sh\n')
  chmodSync(join(folder, 'tool'), 0o755)
  const options = { searchPath: `${endless}:/etc/passwd:${folder}`, workingDir: '/' }
  t.same(locateProgram(['tool'], options), { file: join(folder, 'tool') })
  t.same(locateProgram([join(endless, 'tool')], options), {
    problem: `exec: "${join(endless, 'tool')}": stat ${join(endless, 'tool')}: no such file or directory`,
  })
  t.end()
})
