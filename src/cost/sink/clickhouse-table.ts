import { type ColumnType, LEDGER_COLUMNS } from '../ledger-columns.ts';

/** `Replicated…` for clusters of one's own, `Shared…` for ClickHouse Cloud. */
export type ClickHouseEngine = 'ReplacingMergeTree' | 'ReplicatedReplacingMergeTree' | 'SharedReplacingMergeTree';

export interface ClickHouseTable {
  readonly database: string;
  readonly table: string;
  readonly engine?: ClickHouseEngine;
  /** Rows are dropped this long after their request, 1 to 3650; null = never. */
  readonly ttlDays?: number | null;
}

/** A TTL ends with the year 2105: one that passes it wraps around, and the rows are gone at once. */
const MOST_DAYS = 3650;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'String',
  integer: 'Int64',
  real: 'Float64',
  boolean: 'Bool',
  time: "DateTime64(3, 'UTC')",
};

/** Texts of few values: kept as numbers into a dictionary. */
const FEW = new Set([
  'kind',
  'charged_to',
  'status',
  'currency',
  'request_type',
  'route',
  'model',
  'backend',
  'tenant',
]);

/** `` `database`.`table` ``. Throws `RangeError` for names that are no plain identifiers. */
export function tableName({ database, table }: Pick<ClickHouseTable, 'database' | 'table'>): string {
  for (const name of [database, table])
    if (!IDENTIFIER.test(name)) throw new RangeError(`not a name of ClickHouse: ${name}`);
  return `\`${database}\`.\`${table}\``;
}

/** The head of an insert; the rows follow as JSON lines. */
export function insertStatement(table: Pick<ClickHouseTable, 'database' | 'table'>): string {
  const columns = LEDGER_COLUMNS.map(({ name }) => `\`${name}\``).join(', ');
  return `INSERT INTO ${tableName(table)} (${columns}) FORMAT JSONEachRow`;
}

/**
 * Statements that make the table and the view `<table>_once`, each harmless when repeated. Copies of a booking agree in every
 * column of the sorting key and of the partition, so that the engine merges them into one; until it has, only `FINAL`, and
 * thus the view, sees each booking once. Columns of a later version are added to a table that is there.
 */
export function tableStatements(table: ClickHouseTable): readonly string[] {
  const { engine = 'ReplacingMergeTree', ttlDays = null } = table;
  if (ttlDays !== null && !(Number.isSafeInteger(ttlDays) && ttlDays > 0 && ttlDays <= MOST_DAYS))
    throw new RangeError(`not a number of days: ${ttlDays}`);
  const name = tableName(table);
  const columns = LEDGER_COLUMNS.map((column) => `\`${column.name}\` ${columnType(column)}`);
  const ttl = ttlDays === null ? '' : `\nTTL toDateTime(time) + INTERVAL ${ttlDays} DAY`;
  return [
    `CREATE TABLE IF NOT EXISTS ${name} (\n  ${columns.join(',\n  ')}\n) ENGINE = ${engine}
PARTITION BY toYYYYMM(time)
ORDER BY (tenant, toDate(time), operation, attempt, kind)${ttl}`,
    `ALTER TABLE ${name} ${columns.map((column) => `ADD COLUMN IF NOT EXISTS ${column}`).join(', ')}`,
    `CREATE VIEW IF NOT EXISTS ${tableName({ ...table, table: `${table.table}_once` })} AS SELECT * FROM ${name} FINAL`,
  ];
}

function columnType({ name, type, nullable }: (typeof LEDGER_COLUMNS)[number]): string {
  if (FEW.has(name)) return 'LowCardinality(String)';
  return nullable ? `Nullable(${TYPES[type]})` : TYPES[type];
}
