-- A harbour's books
create table ships (name text, flag text, length number, built number);
create table calls (ship text, day number, berth number, tons number);
insert into ships values ('Aurora', 'NO', 88.5, 1998), ('Brynhild', 'DK', 142, 2011),
  ('Carthage', 'SE', 61.25, 1974), ('Dione', 'NO', 110, 1998),
  ('Esker', 'DK', 73, 1989), ('Fulmar', 'SE', 95, 2003);
insert into calls values ('Aurora', 1, 3, 420), ('Brynhild', 1, 7, 2600), ('Dione', 2, 3, 900),
  ('Aurora', 4, 5, 35), ('Esker', 4, 3, 310), ('Brynhild', 6, 7, 1800),
  ('Dione', 7, 2, 12.5), ('Dione', 9, 2, 80), ('Ghost', 9, 9, 1);

select * from ships;
select name, length from ships where length > 80 and flag <> 'DK' order by length desc;
select name + ' of ' + flag as title, 2026 - built as age from ships order by age, title limit 3;
select name from ships where name like '%r' or name like '_i%';
select distinct flag from ships order by flag;
select flag, count(*) as ships, avg(length) as mean, min(built), max(name) from ships
  group by flag order by ships desc, flag;
select count(*), sum(length), avg(length), min(name) from ships where length > 1000;
select sum(tons) / count(*) as mean, max(tons) - min(tons) as spread from calls;

-- Joins
select name, day, tons from calls join ships on ship = name where flag = 'NO' order by day;
select flag, berth, sum(tons) as tons from calls join ships on calls.ship = ships.name
  group by flag, berth having sum(tons) > 100 order by tons desc;
select a_day, a_ship from calls;
select name, count(*) as calls from ships join calls on name = ship
  group by name order by calls desc, name;

-- Changes
update ships set length = length + 0.5, flag = 'FI' where flag = 'SE';
select name, flag, length from ships where flag = 'FI';
delete from calls where ship = 'Ghost';
delete from calls where not (day < 7 or tons > 50);
select count(*) as left from calls;
update calls set tons = -tons * 2 where berth = 7;
select * from calls order by berth desc, tons;

-- What goes wrong changes nothing
insert into ships values ('Good', 'XX', 1, 2), ('Bad', 3, 4, 5);
insert into ships values ('Short');
select count(*) from ships;
update ships set built = name;
create table ships (x number);
create table broken (x real);
select nothing from ships;
select name from nowhere;
select name from ships join calls on ship = name where tons / (day - 1) > 1;
select ship from calls join calls on day = day;
select median(tons) from calls;
select name from ships where sum(length) > 3;
select * from ships group by flag;
select name ships;
select 'unfinished from ships;
';
frobnicate everything;
drop table calls;
drop table calls;
select * from ships order by flag, name desc;
select 1
