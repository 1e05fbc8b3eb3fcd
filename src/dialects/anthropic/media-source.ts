import { isObject, type Json, own } from '../../core/json.ts';
import { type JsonText, objectText, valueText } from './json-text.ts';
import { invalid, unsupported } from './refuse.ts';

const IMAGES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const PDF = 'application/pdf';
/** The part before the comma of a `data:` URL (RFC 2397) is short; megabytes of data behind it are not searched. */
const MAX_DATA_HEAD = 256;

/** The source of a picture: the bytes of a `data:` URL with their type, or an address. Throws `GatewayError`. */
export function imageSource(image: Json, param: string): JsonText {
  if (!isObject(image)) throw invalid(param, 'an object');
  for (const name of Object.keys(image)) {
    if (name !== 'url' && name !== 'detail' && own(image, name) !== null) {
      throw unsupported(`${param}.${name}`, 'it is not known here');
    }
  }
  const detail = own(image, 'detail');
  if (detail !== null && detail !== 'auto' && detail !== 'high') {
    throw unsupported(`${param}.detail`, 'pictures are read in full');
  }
  const url = own(image, 'url');
  if (typeof url !== 'string') throw invalid(`${param}.url`, 'a string');
  if (/^data:/i.test(url)) return dataSource(url, IMAGES, `${param}.url`);
  if (!/^https:\/\//i.test(url)) throw unsupported(`${param}.url`, 'it is an https: or data: URL');
  return objectText({ type: '"url"', url: valueText(url) });
}

/** The source of a document, and its name. Throws `GatewayError` for all but a PDF in a `data:` URL. */
export function documentSource(file: Json, param: string): { source: JsonText; title: JsonText | null } {
  if (!isObject(file)) throw invalid(param, 'an object');
  for (const name of Object.keys(file)) {
    if (name !== 'file_data' && name !== 'filename' && own(file, name) !== null) {
      throw unsupported(`${param}.${name}`, 'files are sent in file_data');
    }
  }
  const data = own(file, 'file_data');
  const title = own(file, 'filename');
  if (typeof data !== 'string') throw invalid(`${param}.file_data`, 'a string');
  if (title !== null && typeof title !== 'string') throw invalid(`${param}.filename`, 'a string');
  return {
    source: dataSource(data, new Set([PDF]), `${param}.file_data`),
    title: title === null || title === '' ? null : valueText(title),
  };
}

function dataSource(url: string, types: ReadonlySet<string>, param: string): JsonText {
  const comma = url.slice(0, MAX_DATA_HEAD).indexOf(',');
  const [type = '', ...rest] = url.slice('data:'.length, Math.max(comma, 0)).toLowerCase().split(';');
  if (comma === -1 || rest.at(-1)?.trim() !== 'base64') throw unsupported(param, 'its data: URL is not in base64');
  const mediaType = type.trim() === 'image/jpg' ? 'image/jpeg' : type.trim();
  if (!types.has(mediaType)) throw unsupported(param, `its type is one of ${[...types].join(', ')}`);
  return objectText({ type: '"base64"', media_type: valueText(mediaType), data: valueText(url.slice(comma + 1)) });
}
