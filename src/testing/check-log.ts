export { checkLog } from '../core/check-log.ts';
