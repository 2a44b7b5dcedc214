export { editDistance, nearestName } from '../core/nearest-name.ts';
