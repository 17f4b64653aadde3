-- Beginning of the receiver's answer to the last try.
ALTER TABLE webhook_deliveries ADD COLUMN reply TEXT;
