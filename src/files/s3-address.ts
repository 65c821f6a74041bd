/** A bucket, and where in it. */
export interface S3Address {
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
  /** Null: that of AWS. */
  readonly endpoint: string | null;
  /** Null: as AWS's own settings say. */
  readonly region: string | null;
}

/** `s3://bucket/prefix?endpoint=https://…&region=…`. A string says what is wrong with it, and repeats nothing of it. */
export function parseS3Address(text: string): S3Address | string {
  const url = URL.parse(text);
  if (url?.protocol !== 's3:' || url.hostname === '')
    return 'it must be as s3://bucket/prefix?endpoint=https://host&region=name';
  if (url.username !== '' || url.password !== '')
    return 'it holds no credentials: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of the machine';
  const unknown = [...url.searchParams.keys()].some((name) => name !== 'endpoint' && name !== 'region');
  if (unknown) return 'only endpoint and region may stand behind its question mark';
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint !== null && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    return 'its endpoint must be an http or https URL';
  if (url.pathname.includes('%'))
    return 'its path must be plain: letters, digits, slashes and what else stands in a URL as it is';
  const names = url.pathname.split('/').filter((name) => name !== '');
  return {
    bucket: url.hostname,
    prefix: names.map((name) => `${name}/`).join(''),
    endpoint,
    region: url.searchParams.get('region'),
  };
}
