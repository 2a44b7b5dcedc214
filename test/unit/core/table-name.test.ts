import { describe, expect, it } from 'vitest';
import {
  expandTableTemplate,
  findTableNameCollisions,
  tableNameOfTopic,
} from '../../../src/core/table-name.ts';

// The text as it stands in a pipeline file.
const BY_TOPIC = 'bronze.$' + '{topic}';

describe('table names', () => {
  it.each([
    ['ad-clicks', 'ad_clicks'],
    ['Ad.Clicks', 'ad_clicks'],
    ['a__b', 'a__b'],
    ['orders.v2', 'orders_v2'],
    ['123', '123'],
    ['토픽', '__'],
  ])('%s -> %s', (topic, name) => expect(tableNameOfTopic(topic)).toBe(name));

  it('fill a template, whatever stands in the name', () => {
    expect(expandTableTemplate(BY_TOPIC, 'ad-clicks')).toBe('bronze.ad_clicks');
    expect(expandTableTemplate(`${BY_TOPIC}_$` + '{topic}', 'a')).toBe('bronze.a_a');
    expect(expandTableTemplate('bronze.all', 'a')).toBe('bronze.all');
    expect(expandTableTemplate(BY_TOPIC, "$&$'$`")).toBe('bronze.______');
  });

  it('that meet are found', () => {
    const routes = ['ad-clicks', 'b', 'ad.clicks', 'AD_CLICKS', 'c'].map((topic) => ({
      topic,
      template: BY_TOPIC,
    }));
    expect(findTableNameCollisions(routes)).toEqual([
      { table: 'bronze.ad_clicks', topics: ['ad-clicks', 'ad.clicks', 'AD_CLICKS'] },
    ]);
  });

  it('that are shared on purpose are none', () => {
    expect(findTableNameCollisions(['a', 'b'].map((topic) => ({ topic, template: 'bronze.all' })))).toEqual(
      [],
    );
    expect(
      findTableNameCollisions([
        { topic: 'a', template: BY_TOPIC },
        { topic: 'a', template: BY_TOPIC },
      ]),
    ).toEqual([]);
    // One by rule into the table that another was sent to by name: nobody asked for that.
    expect(
      findTableNameCollisions([
        { topic: 'a', template: 'bronze.b' },
        { topic: 'b', template: BY_TOPIC },
      ]),
    ).toEqual([{ table: 'bronze.b', topics: ['a', 'b'] }]);
  });
});
