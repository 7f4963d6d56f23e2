/** Files of `npm run test:quick`: decisions, protocols, and the life and death of one pod from kubectl to its signals. */
export const quickTests = [
  'test/shared/{api,record}/**/*.test.ts',
  'test/shared/{answer-reader,clock,config,go-time,http2-client,pki,selectors,words}.test.ts',
  'test/apiserver/{http,patch,registry,termination-reason,terminations,watchcache,write-tries}.test.ts',
  'test/apiserver/http2/{connection,cost,framing}.test.ts',
  'test/apiserver/{protobuf,strategic-merge,values}/*.test.ts',
  'test/controllers/*.test.ts',
  'test/kubelet/*.test.ts',
  'test/kubelet/actions/*.test.ts',
  'test/e2e/{graceful-delete,kubectl-reason}.test.ts',
]
