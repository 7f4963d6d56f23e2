/** A config file with mistakes: each is named with its line, by whichever command reads the file, before anything starts. */
import t from 'tap'
import { startCommand } from '../harness/cluster.ts'

t.test('every command that reads the file names all mistakes of it', async (t) => {
  const content = 'port: 0\nmaxPods: many\nimage:\n  "a:*": /bin/a\n  "b:*": 5\nmaxLostRequests: -1\nnodess: 3\n'
  const cwd = t.testdir({ 'kubestage.yaml': content })
  for (const name of ['up', 'status', 'rehearse', 'config']) {
    const command = startCommand(t, [name], { cwd })
    t.equal(await command.ended, 2, name)
    t.equal(
      command.output(),
      [
        'kubestage: kubestage.yaml:2: maxPods must be a whole number from 1 to 100000, not "many"',
        'kubestage.yaml:5: image "b:*" must be a command (text, or a list of texts), not 5',
        'kubestage.yaml:6: maxLostRequests must be a whole number from 0 to 1000000, not -1',
        'kubestage.yaml:7: unknown key "nodess"; did you mean "nodes"?\n',
      ].join('\n'),
    )
  }
})
