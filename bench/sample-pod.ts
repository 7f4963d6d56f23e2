const settings = Array.from({ length: 24 }, (_, i) => ({
  name: `SETTING_${String(i).padStart(2, '0')}`,
  value: `the value of setting ${i}, as long as such values are`,
}))

/** A pod of about 3 KB once it is defaulted, whose container only sleeps. */
export function samplePod(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { app: 'bench', tier: 'backend', release: 'r-2026-11' },
      annotations: {
        'example.com/owner': 'the bench',
        'example.com/note': 'an object as large as those in real clusters',
      },
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: 'busybox:1.37',
          command: ['sleep', '3600'],
          ports: [
            { name: 'http', containerPort: 8080 },
            { name: 'metrics', containerPort: 9090 },
          ],
          resources: { requests: { cpu: '1m', memory: '1Mi' } },
          env: settings,
        },
      ],
    },
  }
}
