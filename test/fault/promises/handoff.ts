import type { Shot } from '../rig/load.ts';
import { RIG_PRICE, startRig, untilSettled } from '../rig/rig.ts';
import { atLeast, exactly, told, type Verdict, verdict } from '../rig/verdict.ts';
import { balance } from './books.ts';
import { describe } from './kill-server.ts';

const EACH = 20;

/** Tries that Envoy sends to the worker that does not have their request work all the same. */
export async function attemptsElsewhere(): Promise<readonly Verdict[]> {
  const rig = await startRig({
    workers: 2,
    config: (upstream) => ({
      backends: [
        {
          name: 'counting',
          dialect: 'openai',
          endpoints: [{ url: `http://127.0.0.1:${upstream}/v1` }],
          credentials: { header: 'authorization', value: 'Bearer credential-that-only-the-gateway-sets' },
        },
        { name: 'down', dialect: 'openai', endpoints: [{ url: 'http://127.0.0.1:9/v1' }] },
      ],
      models: [
        { name: 'chaos', deployments: [{ backend: 'counting', model: 'm', price: RIG_PRICE }] },
        { name: 'frail', deployments: [{ backend: 'down' }], fallback: ['chaos'] },
      ],
    }),
    // Without affinity half of all tries go astray.
    edit: (files) =>
      files.set('clusters.yaml', (files.get('clusters.yaml') ?? '').replaceAll('RING_HASH', 'ROUND_ROBIN')),
  });
  try {
    const kinds = [
      { name: 'plain', order: {} },
      { name: 'stream', order: { stream: true, tokens: 20, delayMs: 5 } },
      { name: 'fallback', order: { model: 'frail' } },
      { name: 'fallback-stream', order: { model: 'frail', stream: true, tokens: 20, delayMs: 5 } },
    ];
    const shots: Shot[] = [];
    for (const { name, order } of kinds) {
      shots.push(
        ...(await Promise.all(
          Array.from({ length: EACH }, (_, index) => rig.client.send({ id: `${name}-${index}`, ...order })),
        )),
      );
    }
    const settled = await untilSettled(rig, 3000);
    const failed = shots.filter(({ complete }) => !complete);
    const [one] = failed;
    return [
      verdict('attempts at the other worker', [
        told('requests', shots.length),
        exactly('failed', failed.length, 0),
        ...(one === undefined ? [] : [told('such as', describe(one))]),
        atLeast(
          'handed over',
          await rig.metric('tokenlat_anomalies_total{kind="attempt_elsewhere"}'),
          shots.length / 8,
        ),
        exactly('unknown', await rig.metric('tokenlat_anomalies_total{kind="unknown_attempt"}'), 0),
        exactly('upstream requests without our verdict', rig.upstream.unjudged(), 0),
        exactly('open reservations', settled === null ? await rig.stores.ledger.open() : 0, 0),
        ...(await balance(rig, shots)).figures,
      ]),
    ];
  } finally {
    await rig.stop();
  }
}
