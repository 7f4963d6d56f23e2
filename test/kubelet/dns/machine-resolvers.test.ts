import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { machineResolvers } from '../../../kubelet/dns/open-dns.ts'

t.test('resolvers are those of the file as it is now', async (t) => {
  const file = join(t.testdir(), 'resolv.conf')
  const write = (text: string, seconds: number): void => {
    writeFileSync(file, text)
    utimesSync(file, seconds, seconds)
  }
  const resolvers = machineResolvers(file)
  const hosts = () => resolvers().map(({ host }) => host)
  write('# nameserver 192.0.2.1\nnameserver 192.0.2.2\n  nameserver ::1\nsearch example.com\n', 1)
  t.same(hosts(), ['192.0.2.2', '::1'])
  t.equal(resolvers(), resolvers(), 'and not read again while it is the same')
  write('nameserver 192.0.2.3', 2)
  t.same(hosts(), ['192.0.2.3'])
  write('', 3)
  t.same(hosts(), [])
  t.throws(machineResolvers(join(t.testdirName, 'none')), { code: 'ENOENT' })
})
